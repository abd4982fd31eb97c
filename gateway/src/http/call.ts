import type { Readable } from 'node:stream'

import type { Operation } from '@kinora/contract/operation'
import type { Static, TObject, TSchema } from 'typebox'

import type { Caller } from '../keys/caller.ts'
import type { Fields } from './fields.ts'

/** One request to an operation, after its caller, limits and body were dealt with. */
export interface Call {
  path: Record<string, string>
  query: Record<string, string>
  header: (name: string) => string | undefined
  method: string
  caller: Caller
  /** The body's fields, form or JSON; empty for an operation without a body. */
  fields: Fields
  /** Reads a parameter set out of the fields; what the set does not know is named in the reply's header. */
  read: <Schema extends TObject>(schema: Schema) => Static<Schema>
  requestId: string
  /** Aborted when the client goes away. */
  signal: AbortSignal
}

type BodyOf<O extends Operation> = O['answer'] extends { schema: infer Schema extends TSchema }
  ? Static<Schema>
  : Readable | undefined

export interface Reply<Body> {
  status?: number
  headers?: Record<string, string>
  body: Body
}

/** What answers an operation. It returns the body alone, or a reply where headers or a status matter. */
export type Handler<O extends Operation> = (call: Call) => Promise<Reply<BodyOf<O>>>
