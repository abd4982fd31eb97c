/**
 * Runs a finalizer when a stream ends, exactly once: after its last value, after a failure, or when its reader leaves,
 * even before the first value was asked for. The `finally` of an async generator does not do that: a generator that
 * was never started ends without running any of its code. What settles money, releases a claim or deletes a file at
 * the end of a stream belongs into a finalizer.
 */
import { Readable } from 'node:stream'

type Stream<Value> = AsyncGenerator<Value, void, undefined>

/** The same values. The end is seen after the finalizer, which must not fail: a failure would hide how it ended. */
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
    // A reader that fails is one that leaves; the source did nothing wrong.
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
 * The bytes as a stream to be sent. Destroying it before it was read runs the finalizer as well, and an error that comes
 * when nobody listens does not end the process; a reader that comes later still finds it.
 */
export const readableFrom = (bytes: Stream<Buffer>): Readable =>
  Readable.from(bytes, { objectMode: false, highWaterMark: 64 * 1024 }).on('error', ignoreError)
