/**
 * The body of a download. A connection that breaks or stalls is replaced, and the stream continues at the same byte. Only the
 * time that a reader waits counts, so a reader may pause.
 */
import { Readable } from 'node:stream'

import { backOff } from './s3-connection.ts'

const resumesMax = 3

class StalledError extends Error {
  constructor(position: number, timeoutMs: number) {
    super(`a download from S3 stalled at byte ${position} for ${timeoutMs} ms`)
  }
}

export const createResumingStream = ({
  start,
  end,
  body: first,
  openFrom,
  signal,
  idleMs,
}: {
  /** The first byte of `body`, and the last one, inclusive. */
  start: number
  end: number
  body: Readable
  /** Opens the rest of the same object. */
  openFrom: (position: number) => Promise<Readable>
  signal?: AbortSignal | undefined
  idleMs: number
}): Readable => {
  let body = first
  let chunks: AsyncIterator<Buffer> = body[Symbol.asyncIterator]()
  let position = start
  let resumes = 0

  const nextChunk = async (): Promise<Buffer | undefined> => {
    const { promise: stalled, reject } = Promise.withResolvers<never>()
    const timer = setTimeout(() => reject(new StalledError(position, idleMs)), idleMs)
    try {
      const next = await Promise.race([chunks.next(), stalled])
      if (next.done !== true) return next.value
      if (position <= end) throw new Error(`a download from S3 ended at byte ${position}`)
      return undefined
    } finally {
      clearTimeout(timer)
    }
  }

  const resume = async (error: unknown) => {
    body.destroy()
    resumes += 1
    if (resumes > resumesMax || signal?.aborted === true) throw error
    await backOff(resumes, signal)
    body = await openFrom(position)
    chunks = body[Symbol.asyncIterator]()
  }

  const readNext = async (stream: Readable) => {
    for (;;) {
      try {
        const chunk = await nextChunk()
        position += chunk?.length ?? 0
        stream.push(chunk ?? null)
        return
      } catch (error) {
        if (stream.destroyed) return
        await resume(error)
        if (stream.destroyed) body.destroy()
      }
    }
  }

  return new Readable({
    read() {
      readNext(this).catch((error: unknown) => this.destroy(error as Error))
    },
    destroy: (error, done) => {
      body.destroy()
      done(error)
    },
  })
}
