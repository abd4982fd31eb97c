/**
 * Runs a finalizer exactly once when a stream ends: after its last value, after a failure, or when its reader stops,
 * even before the first value. The `finally` of an async generator does not guarantee this, because a generator that
 * was never started ends without running any code. Use a finalizer to settle a charge, release a claim or delete a file
 * at the end of a stream.
 */
import { Readable } from 'node:stream'

type Stream<Value> = AsyncGenerator<Value, void, undefined>

/** Yields the same values. The stream ends after the finalizer, which must not throw: its error would hide the original one. */
export const withFinalizer = <Value>(
  source: Stream<Value>,
  finalizer: () => Promise<void>,
): Stream<Value> => {
  let finalizing: Promise<void> | undefined
  const finalize = () => (finalizing ??= finalizer())
  const leave = async () => {
    try {
      await source.return()
    } finally {
      await finalize()
    }
  }
  return {
    next: async () => {
      let isOver = true
      try {
        const step = await source.next()
        isOver = step.done === true
        return step
      } finally {
        if (isOver) await finalize()
      }
    },
    return: async () => {
      await leave()
      return { done: true, value: undefined }
    },
    // An error of the reader is not an error of the source.
    throw: async (error) => {
      await leave()
      throw error
    },
    [Symbol.asyncIterator]() {
      return this
    },
    [Symbol.asyncDispose]: leave,
  }
}

const ignoreError = () => undefined

/**
 * Turns the bytes into a Readable. Destroying it unread runs the finalizer as well. An early error does not end the
 * process, and a later reader still receives it.
 */
export const readableFrom = (bytes: Stream<Buffer>): Readable =>
  Readable.from(bytes, { objectMode: false, highWaterMark: 64 * 1024 }).on('error', ignoreError)
