import type { Readable } from 'node:stream'

import type { ApiError } from '@kinora/contract/errors'
import type { Operation } from '@kinora/contract/operation'
import type { Quote } from '@kinora/contract/operations/account'
import type { Static, TObject, TSchema } from 'typebox'

import type { Caller, Operator } from '../auth/caller.ts'
import type { Database } from '../platform/postgres.ts'
import type { Fields } from './body/fields.ts'
import type { SpooledText } from './body/spooled-text.ts'
import type { RequestDetails } from './completed-request.ts'
import type { EventStream } from './sse.ts'

/** A reply as it is kept for a repeat of its request. */
export interface ResponseToStore {
  accountId: string
  name: Buffer
  /** Whose reply it is; nothing is kept of one whose claim was taken over. */
  claim: string
  status: number
  headers: Record<string, string>
  body: Buffer | null
  bodyKind: 'text' | 'bytes' | 'events' | null
  taskId: string | null
}

/** Writes replies down, in the transaction that makes what they tell of. */
export type StoreResponses = (database: Database, replies: ResponseToStore[]) => Promise<void>

type PathOf<O extends Operation> = O extends { parameters: { path: infer Path } }
  ? { [Name in keyof Path]: string }
  : Record<string, string>

type QueryOf<O extends Operation> = O extends { parameters: infer Parameters }
  ? (Parameters extends { query: infer Query } ? { [Name in keyof Query]: string } : unknown) &
      (Parameters extends { optionalQuery: infer Query } ? { [Name in keyof Query]?: string } : unknown)
  : Record<string, string | undefined>

/** One authenticated and admitted request to an operation, with its body read. */
export interface Call<O extends Operation = Operation> {
  path: PathOf<O>
  /** The values stay text. Optional ones are validated against the contract, which also supplies defaults. */
  query: QueryOf<O>
  header: (name: string) => string | undefined
  /** All of them, for what is signed. */
  headers: Record<string, string | string[] | undefined>
  /** Where the request came from. */
  address: string
  method: string
  /** Whether it came by `/openai/v1`, the base address of the openai client. */
  isUnderOpenAi: boolean
  caller: Caller
  /** Who runs the service, for an operation that takes an operator's key; that one has no caller. */
  operator: Operator
  /** The body's fields, form or JSON; empty for an operation without a body. */
  fields: Fields
  /** The body of an operation that takes it as bytes, read when it is asked for. */
  bytes: () => Promise<Buffer>
  /** The long text that a value of the body stands for; undefined for any other value. */
  longText: (value: unknown) => SpooledText | undefined
  /** Reads a parameter set out of the fields; what the set does not know is named in the reply's header. */
  read: <Schema extends TObject>(schema: Schema) => Static<Schema>
  /** Tells the log of requests what only the handler knows; models and ids that are given or answered it sees itself. */
  note: (details: RequestDetails) => void
  /** Names a parameter in the reply's header that was understood and could not be honoured. */
  ignore: (name: string) => void
  requestId: string
  /** True where the caller only asks what it would cost: nothing is to be made. */
  wantsQuote: boolean
  /** The 402 that expensive work for this call would be refused with; a quote tells of it instead of doing the work. */
  findInsolvency: () => Promise<ApiError | undefined>
  /** The task that this very request made when it came before; the reply tells of that one. */
  replayOf: string | undefined
  /**
   * What is to be written together with the task, so that the reply outlives this process; undefined where this request
   * is not to be recognised. A reply without a body is told anew by its task.
   */
  responseToStore: (taskId: string, response: Reply<unknown>) => ResponseToStore | undefined
  /** Aborted when the client goes away, unless its reply is kept for it. */
  signal: AbortSignal
  /**
   * The same signal, for a call that from here on only waits: it is also aborted, with an ApiError as its
   * reason, when this process is about to close.
   */
  waitSignal: () => AbortSignal
  /**
   * Runs a media program when it is this account's turn, and tells it to stop when the client goes away. Work that
   * several calls wait for brings a signal of its own instead.
   */
  mediaWork: <Result>(work: (signal: AbortSignal) => Promise<Result>, signal?: AbortSignal) => Promise<Result>
  /** The same for the download of a video, for as long as the file is needed; media work may run inside it. */
  mediaFetch: Call['mediaWork']
}

type BodyOf<O extends Operation> = (O extends { creates: true } ? Quote : never) | AnswerOf<O>

type AnswerOf<O extends Operation> = O['answer'] extends { schema: infer Schema extends TSchema }
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
export type Handler<O extends Operation> = (call: Call<O>) => Promise<Reply<BodyOf<O>> | NotModified>
