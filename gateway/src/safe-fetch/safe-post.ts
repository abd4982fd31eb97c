import { setTimeout as pause } from 'node:timers/promises'

import type { Dispatcher } from 'undici'

import { abortAfter, createSafeConnections, type SafeConnectionOptions } from './safe-connection.ts'
import { SafeFetchError } from './safe-fetch-error.ts'

interface SafePostOptions extends SafeConnectionOptions {
  /** From the lookup of the name to the last byte that is read. */
  totalTimeoutMs?: number
}

interface PostRequest {
  headers: Record<string, string>
  body: string
  /** How much of the response is read. */
  responseBytesMax: number
}

export interface PostResponse {
  status: number
  headers: Record<string, string | undefined>
  /** The beginning of the body, as UTF-8. */
  text: string
}

export interface SafePost {
  /** Throws if the URL is not allowed. */
  assertPermitted: (url: string) => void
  /** Resolves whatever the status is, and rejects with a `SafeFetchError`. Redirects are not followed. */
  post: (url: string, request: PostRequest) => Promise<PostResponse>
}

/** The status has been received, so the body is only for people who look for an error. */
const bodyTimeoutMs = 1_000

/** The beginning of a body, as far as it arrives in time. */
const readBeginning = async (body: Dispatcher.ResponseData['body'], bytesMax: number): Promise<string> => {
  const chunks: Buffer[] = []
  let sizeBytes = 0
  const late = new AbortController()
  const read = async () => {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      sizeBytes += chunk.length
      if (sizeBytes >= bytesMax) return
    }
  }
  // A connection that breaks now does not change the response.
  await Promise.race([
    read().catch(() => undefined),
    pause(bodyTimeoutMs, undefined, { signal: late.signal }).catch(() => undefined),
  ])
  late.abort()
  return Buffer.concat(chunks).subarray(0, bytesMax).toString('utf8')
}

const valueOf = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value.join(', ') : value

/** Sends a request to a URL that a customer chose. */
export function createSafePost(options: SafePostOptions): SafePost {
  const { totalTimeoutMs = 15_000 } = options
  const { permittedUrl, connect } = createSafeConnections(options)

  async function post(text: string, { headers, body, responseBytesMax }: PostRequest): Promise<PostResponse> {
    const url = permittedUrl(text)
    const stop = new AbortController()
    const timer = abortAfter(stop, totalTimeoutMs, 'the response')
    try {
      const client = await connect(url, stop.signal)
      try {
        const response = await client.request({
          method: 'POST',
          path: url.pathname + url.search,
          headers: { 'accept-encoding': 'identity', 'user-agent': 'kinora', ...headers },
          body,
          reset: true,
          signal: stop.signal,
          // The time limit of this file applies instead, because undici's timers are too coarse.
          headersTimeout: 0,
          bodyTimeout: 0,
        })
        response.body.on('error', () => undefined)
        return {
          status: response.statusCode,
          headers: Object.fromEntries(
            Object.entries(response.headers).map(([name, value]) => [name, valueOf(value)]),
          ),
          text: await readBeginning(response.body, responseBytesMax),
        }
      } finally {
        client.destroy().catch(() => undefined)
      }
    } catch (error) {
      if (error instanceof SafeFetchError) throw error
      if (stop.signal.aborted) throw stop.signal.reason
      throw new SafeFetchError('unreachable', 'the server could not be reached', { cause: error })
    } finally {
      clearTimeout(timer)
    }
  }

  return { assertPermitted: (url) => void permittedUrl(url), post }
}
