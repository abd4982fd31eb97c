/** Calls to a provider and their responses. */
import type { Readable } from 'node:stream'

import type { Dispatcher } from 'undici'

import type { AnswerHeaders } from './classify.ts'
import type { StreamedBody } from './multipart.ts'

export interface Call {
  /** The name of the call in failure messages: "submit", "poll". */
  what: string
  method: Dispatcher.HttpMethod
  /** Relative to the base URL, starting with a slash, with every variable part encoded. */
  path: string
  headers?: Record<string, string>
  body?: StreamedBody
  /**
   * Opens a new connection. If the vendor closes a reused connection at that moment, the outcome is unknown, which costs
   * more than a handshake for a request that must not be repeated.
   */
  freshConnection?: boolean
  /** Statuses outside 2xx that count as success. */
  alsoFine?: number[]
  /** Statuses outside 2xx whose body is read as JSON. */
  alsoRead?: number[]
  /** The size limit of a JSON body, if larger than the default. */
  answerBytesMax?: number
  /** Whether an opened stream may be JSON. */
  acceptsJson?: true
  /** The stall timeout of an opened stream, if longer than the default. */
  stalledMs?: number
  /** The only timeout of the call, from connecting to the last byte. */
  signal: AbortSignal
}

/** The URL of a result, given by the vendor. */
export interface Link {
  /** The name of the call in failure messages: "download". */
  what: string
  url: string
  /** The stall timeout, if longer than the default. */
  stalledMs?: number
  /** The only timeout, from connecting to the last byte. */
  signal: AbortSignal
}

export interface JsonAnswer {
  status: number
  headers: AnswerHeaders
  body: unknown
}

export interface TextAnswer {
  status: number
  headers: AnswerHeaders
  text: string
}

export interface StreamedAnswer {
  status: number
  headers: AnswerHeaders
  bytes: Readable
}
