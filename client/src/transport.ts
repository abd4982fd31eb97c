/** Sends requests, and sends them again where that cannot charge twice. */
import type { EncodedBody } from './encode-body.ts'
import { KinoraError, readErrorResponse } from './kinora-error.ts'
import { backoffMs, wait } from './wait.ts'

/** Options of one call. */
export interface RequestOptions {
  /** Aborts the call. A task that was created goes on. */
  signal?: AbortSignal
  /** Names the request of a create. The client makes a key for each call otherwise. */
  idempotencyKey?: string
  headers?: Record<string, string>
  /** Time limit of one attempt. */
  timeoutMs?: number
  /** How often the request is sent again. */
  maxRetries?: number
}

/** The part of `fetch` that is used. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

export interface TransportOptions {
  baseUrl: string
  apiKey?: string | undefined
  fetch: Fetch
  headers: Record<string, string>
  timeoutMs: number
  maxRetries: number
}

export interface SentRequest {
  method: string
  /** Path and query. */
  path: string
  headers?: Record<string, string>
  /** Encodes the body again for each attempt. */
  encode?: () => Promise<EncodedBody> | EncodedBody
  /** Sending the request twice has the effect of sending it once. */
  isRepeatable: boolean
  /** The body of the response is read later, so the time limit ends with its headers. */
  isStreamed?: boolean
  options: RequestOptions
}

/** A longer wait is left to the caller, who gets the error with `retryAfter`. */
const waitMsMax = 60_000

/** Whether the service did nothing, or does the same again. */
const mayRetry = ({ status, shouldRetry, code }: KinoraError, isRepeatable: boolean): boolean => {
  // A 503 may come after the commit, so only 429 says that nothing was done.
  if (shouldRetry !== undefined) return shouldRetry && (isRepeatable || status === 429)
  if (status === 429) return true
  if (!isRepeatable) return false
  return status === undefined || status === 408 || status >= 500 || code === 'request_in_progress'
}

/** Later headers win, however their names are written: two keys of one create would be a new key. */
const mergeHeaders = (...all: (Record<string, string> | undefined)[]): Record<string, string> => {
  const merged = new Headers()
  for (const headers of all)
    for (const [name, value] of Object.entries(headers ?? {})) merged.set(name, value)
  return Object.fromEntries(merged)
}

/** Browsers hide where a redirect leads. */
const isRedirect = ({ type, status }: Response) =>
  type === 'opaqueredirect' || (status >= 300 && status < 400 && status !== 304)

const redirected = ({ status, headers }: Response) =>
  new KinoraError(
    'invalid_response',
    `The address of the service redirects to ${headers.get('location') ?? 'another one'}. Set that as the base URL.`,
    { status },
  )

export type Send = <Result>(
  request: SentRequest,
  read: (response: Response) => Promise<Result> | Result,
) => Promise<Result>

export const createTransport = (settings: TransportOptions): Send => {
  const { baseUrl, apiKey, fetch } = settings

  const attempt = async <Result>(
    { method, path, headers, isStreamed, options }: SentRequest,
    encoded: EncodedBody | undefined,
    read: (response: Response) => Promise<Result> | Result,
  ): Promise<Result> => {
    const limit = new AbortController()
    const timeoutMs = options.timeoutMs ?? settings.timeoutMs
    const timer = setTimeout(() => {
      limit.abort(new KinoraError('timeout', `No response to ${method} ${path} within ${timeoutMs} ms.`))
    }, timeoutMs)
    const { signal } = options
    try {
      const response = await fetch(`${baseUrl}${path}`, {
        method,
        // A redirected POST would become a GET. Its body, and headers of the caller, are not for another host.
        ...(method !== 'GET' && { redirect: 'manual' as const }),
        headers: mergeHeaders(
          // So that a key of the other dialect reads what the types of this package say.
          { 'x-api-dialect': 'reference' },
          apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
          encoded?.contentType === undefined ? {} : { 'content-type': encoded.contentType },
          settings.headers,
          headers,
          options.headers,
        ),
        // Without a key, the cookie of a session is the credential.
        ...(apiKey === undefined && 'location' in globalThis && { credentials: 'include' as const }),
        ...(encoded !== undefined && { body: encoded.body }),
        ...(encoded?.isOnce === true && { duplex: 'half' }),
        signal: signal === undefined ? limit.signal : AbortSignal.any([signal, limit.signal]),
      })
      if (isRedirect(response)) throw redirected(response)
      if (!response.ok) throw await readErrorResponse(response)
      if (isStreamed === true) clearTimeout(timer)
      return await read(response)
    } catch (error) {
      if (signal?.aborted === true) throw signal.reason
      if (limit.signal.aborted) throw limit.signal.reason
      if (error instanceof KinoraError) throw error
      const reason = error instanceof Error ? (error.cause ?? error) : error
      throw new KinoraError(
        'connection_failed',
        `No complete response to ${method} ${path}: ${reason instanceof Error ? reason.message : String(reason)}`,
        {},
        { cause: error },
      )
    } finally {
      clearTimeout(timer)
    }
  }

  return async (request, read) => {
    const { signal, maxRetries = settings.maxRetries } = request.options
    for (let retries = 0; ; retries += 1) {
      signal?.throwIfAborted()
      const encoded = await request.encode?.()
      try {
        return await attempt(request, encoded, read)
      } catch (error) {
        if (!(error instanceof KinoraError) || signal?.aborted === true) throw error
        if (retries >= maxRetries || encoded?.isOnce === true || !mayRetry(error, request.isRepeatable))
          throw error
        const askedMs = error.retryAfter === undefined ? undefined : error.retryAfter * 1000
        if (askedMs !== undefined && askedMs > waitMsMax) throw error
        await wait(askedMs ?? backoffMs(retries), signal)
      }
    }
  }
}
