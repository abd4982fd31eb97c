/**
 * Receives the body of a request chunk by chunk: within its size limit, at the minimum rate or faster, decompressed if
 * needed, and with backpressure from the consumer. All kinds of bodies are received here.
 */
import type { IncomingMessage } from 'node:http'
import { createGunzip } from 'node:zlib'

import { ApiError } from '@kinora/contract/errors'

import type { ArrivingUpload } from '../../admission/arriving-uploads.ts'
import { rejection } from '../../platform/metrics/rejections.ts'
import { bufferPassed } from '../../platform/streams/buffer-garbage.ts'
import { watchRate, type MinimumRate, type RateWatch } from '../../platform/streams/minimum-rate.ts'
import { yieldToEventLoop } from '../../platform/streams/yield-to-event-loop.ts'

/** Bodies up to this size are small: they are parsed before the caller's solvency is checked. */
const smallBodyBytesMax = 64 * 1024

export interface BodyLimits {
  minimumRate: MinimumRate
  /** How many times its compressed size a body may inflate to, beyond the allowance. */
  inflationMax: number
}

/** A body of this size is harmless at any ratio. Silence as base64 compresses a thousand times. */
const inflationAllowanceBytes = 8 * 1_048_576

export interface Receiving extends BodyLimits {
  sizeBytesMax: number
  tooLarge: () => ApiError
  /** Runs once, before more than a small body is received. Returns the function to call when it has been received. */
  beforeLarge: (upload: ArrivingUpload) => Promise<() => void>
  /** True to receive the bytes as they were sent, without decompression. */
  isRaw?: boolean
  /** Consumes a chunk, or throws to refuse the body. Reading pauses until its promise resolves. */
  take: (chunk: Buffer) => Promise<void> | undefined
  /** Stops receiving; its reason becomes the error. */
  signal?: AbortSignal
}

const encodingOf = (request: IncomingMessage): 'identity' | 'gzip' => {
  const encoding = request.headers['content-encoding']?.trim().toLowerCase() ?? 'identity'
  if (encoding === 'identity' || encoding === 'gzip') return encoding
  throw new ApiError('invalid_request', {
    message: `The content encoding '${encoding.slice(0, 40)}' is not supported.`,
  })
}

const inflatesTooMuch = (inflationMax: number) =>
  new ApiError('request_too_large', {
    message: `The body inflates to more than ${inflationMax} times its compressed size.`,
  })

const tooSlowRetrySeconds = '5'

const tooSlow = ({ bytesPerSecondMin, factor = () => 1 }: MinimumRate) => {
  const requiredMin = Math.ceil(bytesPerSecondMin * factor())
  const error =
    requiredMin <= bytesPerSecondMin
      ? new ApiError('invalid_request', {
          message: `The body arrived too slowly. Send at least ${bytesPerSecondMin} bytes per second.`,
        })
      : new ApiError('rate_limit_exceeded', {
          message: `This server receives many uploads, most of them yours, and the body arrived too slowly for that: send at least ${requiredMin} bytes per second, or fewer uploads at once. Try again in ${tooSlowRetrySeconds} s.`,
          headers: { 'retry-after': tooSlowRetrySeconds },
        })
  return rejection('slow_client', error)
}

const discarding = new WeakSet<IncomingMessage>()

/**
 * Reads and discards the rest of a body, because a client that is disconnected while it sends never sees the response.
 * Only one chunk of all such bodies is read per tick of the event loop, so that they do not delay other requests.
 */
export const discardBody = (request: IncomingMessage): void => {
  if (request.destroyed || discarding.has(request)) return
  discarding.add(request)
  // The body has arrived; its buffered rest must be read before the connection is read again.
  if (request.complete) {
    request.resume()
    return
  }
  request.on('data', ({ length }: Buffer) => {
    bufferPassed(length)
    request.pause()
    void yieldToEventLoop().then(() => request.resume())
  })
  // The request is paused if its last chunk was being consumed.
  request.resume()
}

/**
 * Receives a body up to its limit. Only one chunk of all large bodies is consumed per tick of the event loop, so that
 * small requests are served in between.
 */
export const receiveBody = async (request: IncomingMessage, receiving: Receiving): Promise<void> => {
  const { sizeBytesMax, tooLarge, beforeLarge, take, minimumRate, inflationMax, signal } = receiving
  const encoding = receiving.isRaw === true ? 'identity' : encodingOf(request)
  const announcedBytes = Number(request.headers['content-length'] ?? 0)
  if (announcedBytes > sizeBytesMax) throw tooLarge()
  const stopped = new AbortController()
  let rate: RateWatch | undefined
  let endUpload: (() => void) | undefined
  const beginUpload = async () => {
    const bytesPerSecond = () => rate?.bytesPerSecond() ?? Infinity
    endUpload = await beforeLarge({ bytesPerSecond, abort: (reason) => stopped.abort(reason) })
  }
  let isLarge = announcedBytes > smallBodyBytesMax
  if (isLarge) await beginUpload()

  const received = new Promise<void>((resolve, reject) => {
    const inflater = encoding === 'gzip' ? createGunzip({ chunkSize: 64 * 1024 }) : undefined
    const source = inflater ?? request
    let sizeBytes = 0
    let receivedBytes = 0
    let pending: Promise<void> | undefined

    const stop = () => {
      watch.stop()
      source.removeAllListeners('data')
      request.off('data', countReceived).off('close', onClose)
      signal?.removeEventListener('abort', onAbort)
      stopped.signal.removeEventListener('abort', onStopped)
    }
    const refuse = (error: unknown) => {
      stop()
      request.unpipe()
      discardBody(request)
      // Destroying may still raise an error, so a listener is needed.
      inflater?.on('error', () => undefined).destroy()
      reject(error)
    }
    const unreadable = (cause: unknown) =>
      refuse(
        new ApiError('invalid_request', {
          message:
            inflater === undefined
              ? 'The body could not be read: it ended too early.'
              : 'The body could not be decompressed: it is not complete gzip data, as `Content-Encoding: gzip` says.',
          cause,
        }),
      )
    const onAbort = () => refuse(signal?.reason)
    const onStopped = () => refuse(stopped.signal.reason)
    // A disconnect ends the request but not the inflater. Bytes that arrived but were not read are lost, even if the
    // body was complete.
    const onClose = () => {
      if (!request.readableEnded) unreadable(new Error('the client disconnected'))
    }
    const watch = watchRate(minimumRate, () => refuse(tooSlow(minimumRate)))
    rate = watch
    const countReceived = (chunk: Buffer) => {
      receivedBytes += chunk.length
      watch.received(chunk.length)
      bufferPassed(chunk.length)
    }
    const yieldBetweenChunks = async (chunk: Buffer) => {
      if (!isLarge) {
        isLarge = true
        await beginUpload()
      }
      await yieldToEventLoop()
      await take(chunk)
    }
    request.on('close', onClose)
    // If the client disconnected during authentication, no event of the body will follow.
    if (request.destroyed) return onClose()
    if (signal?.aborted === true) return onAbort()
    if (stopped.signal.aborted) return onStopped()
    signal?.addEventListener('abort', onAbort)
    stopped.signal.addEventListener('abort', onStopped)
    source.on('data', (chunk: Buffer) => {
      sizeBytes += chunk.length
      if (sizeBytes > sizeBytesMax) return refuse(tooLarge())
      if (sizeBytes > inflationAllowanceBytes && sizeBytes > receivedBytes * inflationMax)
        return refuse(inflatesTooMuch(inflationMax))
      let busy: Promise<void> | undefined
      try {
        busy = isLarge || sizeBytes > smallBodyBytesMax ? yieldBetweenChunks(chunk) : take(chunk)
      } catch (error) {
        return refuse(error)
      }
      if (busy === undefined) return
      pending = busy
      watch.pause()
      source.pause()
      busy.then(() => {
        if (pending === busy) {
          pending = undefined
          watch.resume()
        }
        source.resume()
      }, refuse)
    })
    source.on('error', unreadable)
    source.once('end', () => {
      // The 'end' event may come while the last chunk is still being consumed.
      void Promise.resolve(pending).then(() => {
        stop()
        // The request lives as long as its response, which may be a stream, so it must not retain the body.
        source.off('error', unreadable)
        resolve()
      }, refuse)
    })
    if (inflater === undefined) request.on('data', countReceived)
    else request.on('data', countReceived).pipe(inflater)
  })
  await received.finally(() => endUpload?.())
}
