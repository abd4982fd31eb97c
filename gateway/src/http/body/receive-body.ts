/**
 * Receives the body of a request chunk by chunk: within its size, at no less than the minimum rate, inflated where it
 * is compressed, and at the pace of whoever takes the chunks. Every kind of body is received here.
 */
import type { IncomingMessage } from 'node:http'
import { createGunzip } from 'node:zlib'

import { ApiError } from '@kinora/contract/errors'

import { bufferPassed } from '../../platform/streams/buffer-garbage.ts'
import { yieldToEventLoop } from '../../platform/streams/yield-to-event-loop.ts'
import { createRateWindow, type MinimumRate } from './minimum-rate.ts'

/** Bodies up to this size are small: they are parsed before anything else is known about their sender's money. */
const smallBodyBytesMax = 64 * 1024

export interface BodyLimits {
  minimumRate: MinimumRate
  /** How many times its compressed size a body may inflate to, once it is larger than the allowance. */
  inflationMax: number
}

/** However well it compresses, a body of this size is harmless; silence as base64 compresses a thousand times. */
const inflationAllowanceBytes = 8 * 1_048_576
const checkEveryMs = 1_000

export interface Receiving extends BodyLimits {
  sizeBytesMax: number
  tooLarge: () => ApiError
  /** Runs once, before more of a body is taken than a small one has. */
  beforeLarge: () => Promise<void>
  /** True where the bytes are wanted as they were sent, compressed or not. */
  isRaw?: boolean
  /** Takes a chunk, or throws the refusal. While it is busy, nothing more is read. */
  take: (chunk: Buffer) => Promise<void> | undefined
  /** Stops receiving, with its reason as the refusal. */
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

const discarding = new WeakSet<IncomingMessage>()

/**
 * Reads the rest of a body without keeping it, because a sender that is cut off in the middle never gets to see the
 * answer. One chunk per turn of the event loop is read of all such bodies, so that they do not hold up anybody else.
 */
export const discardBody = (request: IncomingMessage): void => {
  if (request.destroyed || discarding.has(request)) return
  discarding.add(request)
  // All of it has come; only what is buffered is left, and while that is unread the connection is not read either.
  if (request.complete) {
    request.resume()
    return
  }
  request.on('data', ({ length }: Buffer) => {
    bufferPassed(length)
    request.pause()
    void yieldToEventLoop().then(() => request.resume())
  })
  // It was paused where its last chunk was being taken.
  request.resume()
}

/**
 * Receives a body up to its limit. Of all large bodies under way one chunk is taken per turn of the event loop, so that
 * small requests are served in between.
 */
export const receiveBody = async (request: IncomingMessage, receiving: Receiving): Promise<void> => {
  const { sizeBytesMax, tooLarge, beforeLarge, take, minimumRate, inflationMax, signal } = receiving
  const encoding = receiving.isRaw === true ? 'identity' : encodingOf(request)
  const announcedBytes = Number(request.headers['content-length'] ?? 0)
  if (announcedBytes > sizeBytesMax) throw tooLarge()
  let isLarge = announcedBytes > smallBodyBytesMax
  if (isLarge) await beforeLarge()

  await new Promise<void>((resolve, reject) => {
    const inflater = encoding === 'gzip' ? createGunzip({ chunkSize: 64 * 1024 }) : undefined
    const source = inflater ?? request
    const rate = createRateWindow(minimumRate)
    let sizeBytes = 0
    let receivedBytes = 0
    let taking: Promise<void> | undefined
    let waitingSinceMs = performance.now()
    let waitedMs = 0

    const stop = () => {
      clearInterval(timer)
      source.removeAllListeners('data')
      request.off('data', countReceived).off('close', onClose)
      signal?.removeEventListener('abort', onAbort)
    }
    const refuse = (error: unknown) => {
      stop()
      request.unpipe()
      discardBody(request)
      // Only now, because closing it may still raise an error that nobody is left to handle.
      inflater?.on('error', () => undefined).destroy()
      reject(error)
    }
    const unreadable = (cause: unknown) =>
      refuse(new ApiError('invalid_request', { message: 'The body could not be read.', cause }))
    const onAbort = () => refuse(signal?.reason)
    // A sender that goes away ends the request but not what it was piped into. What came and was not read yet is lost,
    // even if it was everything.
    const onClose = () => {
      if (!request.readableEnded) unreadable(new Error('the sender went away'))
    }
    const timer = setInterval(() => {
      if (taking === undefined) waitedMs += performance.now() - waitingSinceMs
      waitingSinceMs = performance.now()
      // A process that was stopped for a while did not wait for its sender all that time.
      const isTooSlow = rate.waited(Math.min(waitedMs, checkEveryMs * 1.5))
      waitedMs = 0
      if (!isTooSlow) return
      refuse(
        new ApiError('invalid_request', {
          message: `The body arrived too slowly: at least ${minimumRate.bytesPerSecondMin} bytes per second are needed.`,
        }),
      )
    }, checkEveryMs)
    const countReceived = (chunk: Buffer) => {
      receivedBytes += chunk.length
      rate.received(chunk.length)
      bufferPassed(chunk.length)
    }
    const yieldBetweenChunks = async (chunk: Buffer) => {
      if (!isLarge) {
        isLarge = true
        await beforeLarge()
      }
      await yieldToEventLoop()
      await take(chunk)
    }
    request.on('close', onClose)
    // The sender may have gone while its key was looked up; then nothing will ever be heard of the body.
    if (request.destroyed) return onClose()
    if (signal?.aborted === true) return onAbort()
    signal?.addEventListener('abort', onAbort)
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
      taking = busy
      waitedMs += performance.now() - waitingSinceMs
      source.pause()
      busy.then(() => {
        if (taking === busy) taking = undefined
        waitingSinceMs = performance.now()
        source.resume()
      }, refuse)
    })
    source.on('error', unreadable)
    source.once('end', () => {
      // The end may be told while the last chunk is still being taken.
      void Promise.resolve(taking).then(() => {
        stop()
        // A request lives as long as its answer, which may be a stream: nothing of it may hold on to the body.
        source.off('error', unreadable)
        resolve()
      }, refuse)
    })
    if (inflater === undefined) request.on('data', countReceived)
    else request.on('data', countReceived).pipe(inflater)
  })
}
