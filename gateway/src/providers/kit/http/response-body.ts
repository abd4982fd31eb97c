/** Functions on responses and their bodies, shared by the calls of `upstream-http.ts`. */
import { Readable } from 'node:stream'

import type { Dispatcher } from 'undici'

import { SafeFetchError } from '../../../safe-fetch/safe-fetch-error.ts'
import type { ProviderFailure } from '../../port/failure.ts'
import { type AnswerHeaders, one } from './classify.ts'

/**
 * Rejects as soon as the signal aborts. A request that waits for a connection would notice only once it has one, and is
 * never sent then.
 */
export async function untilAborted<Answer>(request: Promise<Answer>, signal: AbortSignal): Promise<Answer> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const giveUp = () => reject(signal.reason)
  if (signal.aborted) giveUp()
  signal.addEventListener('abort', giveUp, { once: true })
  try {
    return await Promise.race([request, aborted])
  } finally {
    signal.removeEventListener('abort', giveUp)
  }
}

export function isSuccess(answer: Dispatcher.ResponseData): boolean {
  return answer.statusCode >= 200 && answer.statusCode < 300
}

export function isEncoded(answer: Dispatcher.ResponseData): boolean {
  return !/^(identity)?$/i.test(one(answer.headers['content-encoding'])?.trim() ?? '')
}

export function isJson(headers: AnswerHeaders): boolean {
  return /^application\/(\w+\+)?json\b/i.test(one(headers['content-type']) ?? '')
}

/** Closing the connection is cheaper than reading a body of unknown length. */
export function discardBody(answer: { body: Readable }): void {
  answer.body.on('error', () => {}).destroy()
}

export function mayFollow(from: URL, to: URL): boolean {
  return to.protocol === 'https:' || (to.protocol === 'http:' && from.protocol === 'http:')
}

/** Messages of network errors contain hosts and addresses; codes, and our own messages, do not. */
export function errorName(error: unknown): string {
  if (error instanceof SafeFetchError) return error.message
  if (!(error instanceof Error)) return 'error'
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? code : error.name
}

export function isTooLarge(error: unknown): boolean {
  return error instanceof SafeFetchError && error.reason === 'too_large'
}

/** This machine has no file descriptor, port or memory left for a connection. */
const localErrors = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'ENOBUFS', 'EADDRNOTAVAIL', 'EAI_MEMORY'])

export function isLocalError(error: unknown): boolean {
  // Several addresses were tried.
  if (error instanceof AggregateError) return error.errors.every(isLocalError)
  return error instanceof Error && localErrors.has(String((error as { code?: unknown }).code))
}

/** Returns the body as text, or undefined if it is longer than `bytesMax`. */
export async function readText(body: Readable, bytesMax: number): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let sizeBytes = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    sizeBytes += chunk.length
    if (sizeBytes > bytesMax) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** Copies the stream: an error becomes a `ProviderFailure`, and destroying the copy closes the connection. */
export function relay(body: Readable, failureFor: (error: Error) => ProviderFailure): Readable {
  const copy = new Readable({
    read: () => {
      body.resume()
    },
    destroy: (error, callback) => {
      body.destroy()
      callback(error)
    },
  })
  body.on('data', (chunk: Buffer) => {
    if (!copy.push(chunk)) body.pause()
  })
  body.on('end', () => copy.push(null))
  body.on('error', (error) => copy.destroy(failureFor(error)))
  body.pause()
  // An error may occur before a reader is attached; `errored` still has it.
  copy.on('error', () => {})
  return copy
}
