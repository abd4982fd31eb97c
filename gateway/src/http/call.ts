import type { Readable } from 'node:stream'

import type { Operation } from '@kinora/contract/operation'
import type { Quote } from '@kinora/contract/operations/account'
import type { Static, TObject, TSchema } from 'typebox'

import type { Caller, Operator } from '../auth/caller.ts'
import type { Database } from '../platform/postgres.ts'
import type { Fields } from './body/fields.ts'
import type { SpooledText } from './body/spooled-text.ts'
import type { RequestDetails } from './completed-request.ts'
import type { WriteError } from './error-response.ts'
import type { EventStream } from './sse.ts'

/** A response as it is stored for an idempotent replay. */
export interface ResponseToStore {
  accountId: string
  name: Buffer
  /** The claim under which the response was made. Nothing is stored if another request has taken over the claim. */
  claim: string
  status: number
  headers: Record<string, string>
  body: Buffer | null
  bodyKind: 'text' | 'bytes' | 'events' | null
  taskId: string | null
}

/** Stores responses in the transaction that creates the tasks they describe. */
export type StoreResponses = (database: Database, responses: ResponseToStore[]) => Promise<void>

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
  /** Path and query as they were sent, for the verification of a signature. */
  url: string
  header: (name: string) => string | undefined
  /** All headers, for the verification of a signature. */
  headers: Record<string, string | string[] | undefined>
  /** The client's IP address. */
  address: string
  /** The session of the console that the request has a cookie of, for the operations on sessions only. */
  session: {
    token: string | undefined
    /** Whether its cookie is for HTTPS and the browser's own machine only. */
    isSecure: boolean
  }
  method: string
  /** Whether the request came under `/openai/v1`, the base URL for the `openai` SDKs. */
  isUnderOpenAi: boolean
  caller: Caller
  /** Set for an operation that takes an operator's key; such an operation has no `caller`. */
  operator: Operator
  /** The body's fields, form or JSON; empty for an operation without a body. */
  fields: Fields
  /** Reads the body of an operation that takes raw bytes. */
  bytes: () => Promise<Buffer>
  /** The spooled text that a value of the body refers to; undefined for any other value. */
  longText: (value: unknown) => SpooledText | undefined
  /** Reads a parameter set out of the fields. Unknown parameters are named in `X-Ignored-Params`. */
  read: <Schema extends TObject>(schema: Schema) => Static<Schema>
  /** Adds details to the request log. A model or task id in the request or the response is logged without it. */
  note: (details: RequestDetails) => void
  /** Names a parameter in `X-Ignored-Params` that was understood but has no effect. */
  ignore: (name: string) => void
  requestId: string
  /** Where clients reach the public API, for links to it. */
  publicUrl: string
  /** Writes the data of an error event, for a stream that fails after it has begun. */
  writeError: WriteError
  /** True for a dry run: the response is a quote, and nothing is created. */
  wantsQuote: boolean
  /**
   * Throws the 402 of a caller who cannot pay for anything. Must be called before expensive work, such as a download.
   * Media work calls it itself.
   */
  assertCanPay: () => Promise<void>
  /** The task that this request created when it was sent before; the response describes that task. */
  replayOf: string | undefined
  /**
   * The response to store in the transaction that creates the task, so that it survives this process; undefined for a
   * request without identity. A response without a body is rebuilt from its task at each replay.
   */
  responseToStore: (taskId: string, response: Reply<unknown>) => ResponseToStore | undefined
  /** Aborted when the client disconnects, unless the response is stored for a replay. */
  signal: AbortSignal
  /**
   * The signal for a call that only waits from here on. It is also aborted, with an ApiError as its reason, when this
   * process starts to close (`service_unavailable`), and when the caller's key or account, or the operator's key, is no
   * longer accepted.
   */
  waitSignal: () => AbortSignal
  /**
   * Queues a media program fairly by account and aborts it when the client disconnects. Work that several calls share
   * passes its own signal. Long work yields to short work.
   */
  mediaWork: <Result>(
    work: (signal: AbortSignal) => Promise<Result>,
    options?: { signal?: AbortSignal; isLong?: boolean },
  ) => Promise<Result>
  /** The same for a video download, for as long as the file is needed. Media work may run inside it. */
  mediaFetch: Call['mediaWork']
  /**
   * Waits for a slot of a provider that works while the client waits, and holds it until `releaseSlot`. It first releases
   * an earlier one. While it holds one, a client that reads its response too slowly is disconnected.
   */
  takeSlot: (provider: { name: string; concurrency: number }) => Promise<void>
  /** Releases the slot, if the call holds one. */
  releaseSlot: () => void
  /** The same for an image download. */
  imageFetch: Call['mediaWork']
}

type BodyOf<O extends Operation> = (O extends { creates: true } ? Quote : never) | AnswerOf<O>

type AnswerOf<O extends Operation> = O['answer'] extends { schema: infer Schema extends TSchema }
  ?
      | Static<Schema>
      | (O['answer'] extends { streams: true } ? Readable | EventStream | undefined : never)
      | (O['answer'] extends { texts: true } | { pages: true } ? string | Buffer : never)
  : Readable | EventStream | string | Buffer | undefined

export interface Reply<Body> {
  status?: number
  headers?: Record<string, string>
  body: Body
}

/** The response to a conditional request whose resource has not changed. */
export interface NotModified {
  status: 304
  headers: Record<string, string>
  body: undefined
}

/** Handles an operation. The status defaults to 200. */
export type Handler<O extends Operation> = (call: Call<O>) => Promise<Reply<BodyOf<O>> | NotModified>
