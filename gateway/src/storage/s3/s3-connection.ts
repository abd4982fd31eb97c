/**
 * Sends requests to S3. Every request has a time limit, and retries end with the caller's signal. The SDK is an optional
 * package, so it is loaded only when it is used.
 */
import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { setTimeout as wait } from 'node:timers/promises'

import type { S3Client } from '@aws-sdk/client-s3'

import { MediaStoreUnavailable } from '../port/media-store.ts'
import type { Bucket } from './bucket-url.ts'

type Sdk = typeof import('@aws-sdk/client-s3')

export interface CallOptions {
  signal?: AbortSignal | undefined
  /** Of one attempt, until the response begins. */
  timeoutMs?: number
}

export interface S3Connection {
  sdk: Sdk
  client: S3Client
  limits: S3Limits
  /** Gives a body whose hash is known to the signature of its request. */
  noteHash: (body: Uint8Array, sha256: string) => void
  /**
   * Sends a request and repeats it after a temporary failure. `send` is called once per attempt. A failure that is not about the
   * object is a `MediaStoreUnavailable`.
   */
  call: <Output>(
    send: (abortSignal: AbortSignal) => Promise<Output>,
    options?: CallOptions,
  ) => Promise<Output>
}

/** How long S3 may take to begin a response, and to send more of a body that somebody waits for. */
export interface S3Limits {
  responseMs: number
  idleMs: number
}

export const defaultLimits: S3Limits = { responseMs: 15_000, idleMs: 30_000 }

const contentHashHeader = 'x-amz-content-sha256'
const connectTimeoutMs = 5_000
const attemptsMax = 4
const firstBackoffMs = 200

interface HttpRequest {
  headers: Record<string, string>
}

interface S3Error {
  name?: string
  code?: string
  $metadata?: { httpStatusCode?: number }
}

export const statusOf = (error: unknown): number | undefined => (error as S3Error).$metadata?.httpStatusCode

export const nameOf = (error: unknown): string | undefined => (error as S3Error).name

const temporaryNames = new Set(['TimeoutError', 'RequestTimeout', 'SlowDown', 'RequestTimeTooSkewed'])
const temporaryCodes = new Set([
  'ECONNRESET',
  'ECONNREFUSED',
  'EPIPE',
  'ETIMEDOUT',
  'EAI_AGAIN',
  'ECONNABORTED',
])

export const isTemporary = (error: unknown): boolean => {
  const { name = '', code = '' } = error as S3Error
  const status = statusOf(error)
  return (
    temporaryNames.has(name) ||
    temporaryCodes.has(code) ||
    (status !== undefined && (status >= 500 || status === 429))
  )
}

/** Whether a response is about the object of a request, such as one that does not exist. */
const isAboutObject = (error: unknown): boolean => {
  const status = statusOf(error)
  if (status === undefined || nameOf(error) === 'NoSuchBucket') return false
  return !isTemporary(error) && ![301, 307, 401, 403, 507].includes(status)
}

/** The name says more than the message for errors of S3, and the code for errors of the network. */
export const reasonOf = (error: unknown): string => {
  const { name, code, message } = error as S3Error & Error
  return `${code ?? name}: ${message}`
}

/** Waits before the next attempt, longer each time, and not beyond the signal. */
export const backOff = (attempt: number, signal: AbortSignal | undefined): Promise<void> =>
  wait(firstBackoffMs * 2 ** attempt * (0.5 + Math.random() / 2), undefined, signal && { signal })

class S3TimeoutError extends Error {
  override name = 'TimeoutError'
}

/**
 * One attempt. The timer ends when the response begins; later, the body has its own limits. Something before the request, such
 * as a provider of credentials, may not end with the signal, so it is not awaited any longer.
 */
export const attempt = async <Output>(
  send: (abortSignal: AbortSignal) => Promise<Output>,
  { signal, timeoutMs }: CallOptions & { timeoutMs: number },
): Promise<Output> => {
  signal?.throwIfAborted()
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(), timeoutMs)
  const stop = signal === undefined ? late.signal : AbortSignal.any([signal, late.signal])
  const { promise: stopped, reject } = Promise.withResolvers<never>()
  const abandon = () => reject(stop.reason as Error)
  stop.addEventListener('abort', abandon)
  try {
    return await Promise.race([send(stop), stopped])
  } catch (error) {
    signal?.throwIfAborted()
    throw late.signal.aborted
      ? new S3TimeoutError(`S3 did not respond within ${timeoutMs} ms`, { cause: error })
      : error
  } finally {
    clearTimeout(timer)
    stop.removeEventListener('abort', abandon)
  }
}

const loadSdk = async (): Promise<Sdk> => {
  try {
    return await import('@aws-sdk/client-s3')
  } catch (error) {
    throw new Error(
      'MEDIA_STORE is in S3, and the optional package @aws-sdk/client-s3 is not installed. Install it with `npm install --include=optional`.',
      { cause: error },
    )
  }
}

export const connectS3 = async (
  { region, endpoint, isPathStyle }: Bucket,
  limits: S3Limits,
): Promise<S3Connection> => {
  const sdk = await loadSdk()
  // Other servers than AWS hardly have regions, but a signature contains one.
  const usedRegion = region ?? (endpoint === undefined ? undefined : 'us-east-1')
  // Without a limit, because a download that a slow client reads occupies its connection, and nobody may wait for it.
  const sockets = { keepAlive: true, maxSockets: Infinity }
  const client = new sdk.S3Client({
    ...(usedRegion !== undefined && { region: usedRegion }),
    ...(endpoint !== undefined && { endpoint }),
    forcePathStyle: isPathStyle,
    maxAttempts: 1,
    // The SDK would not wait for the response to it.
    expectContinueHeader: false,
    // A range has no checksum to validate, and whole files are validated by their SHA-256.
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: connectTimeoutMs,
      // Would also end the download of a client that pauses.
      socketTimeout: Infinity,
      httpAgent: new HttpAgent(sockets),
      httpsAgent: new HttpsAgent(sockets),
    },
  })
  // Over TLS no hash is needed, as in other SDKs of AWS: the connection protects the body, and its checksum is verified.
  const defaultHash = endpoint === undefined || endpoint.startsWith('https:') ? 'UNSIGNED-PAYLOAD' : undefined
  const knownHashes = new WeakMap<object, string>()
  client.middlewareStack.add(
    (next) => (given) => {
      const { Body } = given.input as { Body?: object }
      const hash = Body && (knownHashes.get(Body) ?? defaultHash)
      if (hash !== undefined) (given.request as HttpRequest).headers[contentHashHeader] = hash
      return next(given)
    },
    { step: 'build', name: 'contentHash' },
  )
  return {
    sdk,
    client,
    limits,
    noteHash: (body, sha256) => {
      knownHashes.set(body, sha256)
    },
    call: async (send, options = {}) => {
      for (let index = 1; ; index += 1) {
        try {
          return await attempt(send, { timeoutMs: limits.responseMs, ...options })
        } catch (error) {
          if (options.signal?.aborted === true || isAboutObject(error)) throw error
          if (index === attemptsMax || !isTemporary(error))
            throw new MediaStoreUnavailable(reasonOf(error), { cause: error })
          await backOff(index, options.signal)
        }
      }
    },
  }
}
