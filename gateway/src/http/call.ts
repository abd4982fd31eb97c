import type { Readable } from 'node:stream'

import type { Operation } from '@kinora/contract/operation'
import type { Static, TObject, TSchema } from 'typebox'

import type { Caller } from '../keys/caller.ts'
import type { EventStream } from './event-stream.ts'
import type { Fields } from './fields.ts'
import type { SpooledText } from './spooled-text.ts'

/** One request to an operation, after its caller, limits and body were dealt with. */
export interface Call {
  path: Record<string, string>
  /** Optional ones were checked against the contract, and a default is filled in; all stay text. */
  query: Record<string, string>
  header: (name: string) => string | undefined
  method: string
  caller: Caller
  /** The body's fields, form or JSON; empty for an operation without a body. */
  fields: Fields
  /** The long text that a value of the body stands for; undefined for any other value. */
  longText: (value: unknown) => SpooledText | undefined
  /** Reads a parameter set out of the fields; what the set does not know is named in the reply's header. */
  read: <Schema extends TObject>(schema: Schema) => Static<Schema>
  /** Names a parameter in the reply's header that was understood and could not be honoured. */
  ignore: (name: string) => void
  requestId: string
  /** Aborted when the client goes away. */
  signal: AbortSignal
  /**
   * The same signal, for a call that from here on only waits: it is also aborted, with an ApiError as its
   * reason, when this process is about to close.
   */
  waitSignal: () => AbortSignal
}

type BodyOf<O extends Operation> = O['answer'] extends { schema: infer Schema extends TSchema }
  ?
      | Static<Schema>
      | (O['answer'] extends { streams: true } ? Readable | EventStream | undefined : never)
      | (O['answer'] extends { texts: true } ? string : never)
  : Readable | EventStream | string | undefined

export interface Reply<Body> {
  status?: number
  headers?: Record<string, string>
  body: Body
}

/** The answer to a reader who has what they ask for already. */
export interface NotModified {
  status: 304
  headers: Record<string, string>
  body: undefined
}

/** What answers an operation. It returns the body alone, or a reply where headers or a status matter. */
export type Handler<O extends Operation> = (call: Call) => Promise<Reply<BodyOf<O>> | NotModified>
