import { Readable } from 'node:stream'

import type { Client, Dispatcher } from 'undici'

import { concurrencyLimitPerKey } from '../platform/concurrency-limit.ts'
import { atWatchedRate, watchRate, type MinimumRate } from '../platform/streams/minimum-rate.ts'
import { abortAfter, createSafeConnections, type SafeConnectionOptions } from './safe-connection.ts'
import { SafeFetchError } from './safe-fetch-error.ts'

interface SafeFetchOptions extends SafeConnectionOptions {
  /** From sending a request, connecting included, to its headers. */
  headersTimeoutMs?: number
  /** Bodies open at once from one origin; others wait, so that a burst of large files stays small in memory. */
  bodiesPerOriginMax?: number
  /** From `open`, or from the end of the wait for a slot, to the last byte, redirects included. */
  totalTimeoutMs?: number
  /** The minimum rate of a body; a stall is the slowest of rates. */
  minimumRate?: MinimumRate
}

interface FetchLimits {
  sizeBytesMax: number
  /** The remaining redirects; default three. */
  redirectsMax?: number
  signal?: AbortSignal
}

interface FetchedBody {
  /** Errors with `SafeFetchError`, or with the reason of the caller's own signal. */
  stream: Readable
  contentType: string | undefined
  /** The final URL after redirects. */
  url: string
}

export interface SafeFetch {
  open: (url: string, limits: FetchLimits) => Promise<FetchedBody>
}

const redirectStatuses = new Set([301, 302, 303, 307, 308])
const mostRedirects = 3

/** Fetches a URL that was chosen by a user or a vendor. */
export function createSafeFetch(options: SafeFetchOptions): SafeFetch {
  const {
    headersTimeoutMs = 10_000,
    bodiesPerOriginMax = 6,
    totalTimeoutMs = 60_000,
    minimumRate = { bytesPerSecondMin: 16_384, windowMs: 5_000 },
  } = options
  const { permittedUrl, connect } = createSafeConnections(options)
  // Per origin, so that a slow host delays only its own downloads.
  const takeTurn = concurrencyLimitPerKey(bodiesPerOriginMax)

  async function open(url: string, limits: FetchLimits): Promise<FetchedBody> {
    limits.signal?.throwIfAborted()
    const first = permittedUrl(url)
    const leave = await takeTurn(first.origin, limits.signal)
    const stop = new AbortController()
    const stopForCaller = () => stop.abort(limits.signal?.reason)
    limits.signal?.addEventListener('abort', stopForCaller)
    if (limits.signal?.aborted === true) stopForCaller()
    const total = abortAfter(stop, totalTimeoutMs, 'the whole transfer')
    const release = () => {
      clearTimeout(total)
      limits.signal?.removeEventListener('abort', stopForCaller)
      leave()
    }
    try {
      const { target, client, answer } = await follow(first, limits, stop)
      const stream = meteredBody(answer, limits.sizeBytesMax, stop)
      stream.once('close', () => {
        release()
        discard(client)
      })
      return { stream, contentType: headerOf(answer, 'content-type'), url: target.href }
    } catch (error) {
      release()
      throw explained(error, stop.signal)
    }
  }

  /** Requests a URL and the ones it redirects to, until one answers 200. Leaves only that connection open. */
  async function follow(first: URL, limits: FetchLimits, stop: AbortController) {
    const { sizeBytesMax, redirectsMax = mostRedirects } = limits
    let target = first
    for (let redirects = 0; redirects <= redirectsMax; redirects += 1) {
      const client = await connect(target, stop.signal)
      let isKept = false
      try {
        const answer = await request(client, target, stop)
        const location = headerOf(answer, 'location')
        if (!redirectStatuses.has(answer.statusCode) || location === undefined) {
          assertUsable(answer, sizeBytesMax)
          isKept = true
          return { target, client, answer }
        }
        target = redirectedUrl(target, location)
      } finally {
        if (!isKept) discard(client)
      }
    }
    throw new SafeFetchError('bad_status', `it redirects more than ${redirectsMax} times`)
  }

  function redirectedUrl(from: URL, location: string): URL {
    const target = permittedUrl(location, from)
    if (from.protocol === 'https:' && target.protocol !== 'https:') {
      throw new SafeFetchError('blocked', 'it redirects from https to http')
    }
    return target
  }

  async function request(client: Client, url: URL, stop: AbortController): Promise<Dispatcher.ResponseData> {
    const timer = abortAfter(stop, headersTimeoutMs, 'the response')
    try {
      const answer = await client.request({
        method: 'GET',
        path: url.pathname + url.search,
        headers: { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'kinora' },
        reset: true,
        signal: stop.signal,
        // The time limits of this file apply instead, because undici's timers are too coarse.
        headersTimeout: 0,
        bodyTimeout: 0,
      })
      // An unread body must not crash the process when its connection closes.
      answer.body.on('error', ignoreError)
      return answer
    } finally {
      clearTimeout(timer)
    }
  }

  function meteredBody(
    answer: Dispatcher.ResponseData,
    sizeBytesMax: number,
    stop: AbortController,
  ): Readable {
    const stream = Readable.from(metered(answer.body, sizeBytesMax, stop), { objectMode: false })
    // A time limit may be exceeded before the caller attaches a listener; the error stays on the stream.
    stream.on('error', ignoreError)
    const stopReading = () => stream.destroy(asError(stop.signal.reason))
    stop.signal.addEventListener('abort', stopReading)
    stream.once('close', () => {
      stop.signal.removeEventListener('abort', stopReading)
      answer.body.destroy()
    })
    return stream
  }

  /** Limits size and slowness. Only the time spent waiting for the sender counts, not the time of a slow reader. */
  async function* metered(
    body: Readable,
    sizeBytesMax: number,
    stop: AbortController,
  ): AsyncGenerator<Buffer> {
    let receivedBytes = 0
    const tooSlow = () => stop.abort(new SafeFetchError('timeout', 'the body took too long'))
    const rate = watchRate(minimumRate, tooSlow)
    try {
      for await (const chunk of atWatchedRate(body, rate)) {
        receivedBytes += chunk.length
        if (receivedBytes > sizeBytesMax) throw tooLarge(sizeBytesMax)
        yield chunk
      }
    } catch (error) {
      throw explained(error, stop.signal)
    } finally {
      rate.stop()
    }
  }

  return { open }
}

/** Accepts only complete, unencoded bodies: a compressed one could grow without bound. */
function assertUsable(answer: Dispatcher.ResponseData, sizeBytesMax: number): void {
  if (answer.statusCode !== 200) {
    const status = answer.statusCode
    throw new SafeFetchError('bad_status', `the server responded with status ${status}`, { status })
  }
  const encoding = headerOf(answer, 'content-encoding')?.trim().toLowerCase() ?? 'identity'
  if (encoding !== 'identity' && encoding !== '') {
    throw new SafeFetchError(
      'bad_status',
      'the server responded with a content encoding that was not requested',
    )
  }
  if (Number(headerOf(answer, 'content-length') ?? 0) > sizeBytesMax) throw tooLarge(sizeBytesMax)
}

function headerOf(answer: Dispatcher.ResponseData, name: string): string | undefined {
  const value = answer.headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}

function tooLarge(sizeBytesMax: number): SafeFetchError {
  return new SafeFetchError('too_large', `the body is larger than ${sizeBytesMax} bytes`)
}

/** Converts an error to a `SafeFetchError`. After an abort its reason replaces any later error. */
function explained(error: unknown, signal: AbortSignal): unknown {
  if (error instanceof SafeFetchError) return error
  if (signal.aborted) return signal.reason
  return new SafeFetchError('unreachable', 'the server could not be reached', { cause: error })
}

function discard(client: Client): void {
  client.destroy().catch(ignoreError)
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error('aborted', { cause: reason })
}

function ignoreError(): void {}
