import { stat } from 'node:fs/promises'
import type { Readable } from 'node:stream'

import { count, isMeasured, measure, secondsSince, type LabelsOf } from '../platform/metrics/metrics.ts'
import { FileTooLarge, MediaNotFound, MediaStoreUnavailable, type MediaStore } from './port/media-store.ts'

type Labels = LabelsOf<'kinora.storage.operation.duration'>

const errorType = (error: unknown, signal: AbortSignal | undefined): Labels['error.type'] => {
  if (error instanceof MediaNotFound) return 'not_found'
  if (error instanceof MediaStoreUnavailable) return 'unavailable'
  if (error instanceof FileTooLarge) return 'too_large'
  return signal?.aborted === true ? 'aborted' : 'internal'
}

const timed = async <Result>(
  operation: NonNullable<Labels['operation']>,
  signal: AbortSignal | undefined,
  work: () => Promise<Result>,
): Promise<Result> => {
  if (!isMeasured()) return work()
  const startedMs = performance.now()
  const end = (error: Labels['error.type']) =>
    measure('kinora.storage.operation.duration', secondsSince(startedMs), { operation, 'error.type': error })
  try {
    const result = await work()
    end(undefined)
    return result
  } catch (error) {
    end(errorType(error, signal))
    throw error
  }
}

/** Counts the bytes that a source gives to a stream. A listener for its data would start the stream. */
const countRead = (stream: Readable): void => {
  let bytes = 0
  const push = stream.push.bind(stream)
  stream.push = (chunk: Buffer | string | null, encoding) => {
    bytes += chunk?.length ?? 0
    return push(chunk, encoding)
  }
  stream.once('close', () => count('kinora.storage.io', { direction: 'read' }, bytes))
}

const sizeOf = (path: string): Promise<number> =>
  isMeasured()
    ? stat(path).then(
        ({ size }) => size,
        () => 0,
      )
    : Promise.resolve(0)

const countWritten = (bytes: number) => count('kinora.storage.io', { direction: 'write' }, bytes)

/** The same store, with its operations measured. */
export const measuredMediaStore = (store: MediaStore): MediaStore => {
  const { presign } = store
  return {
    ...store,
    put: async (key, source, options) => {
      const written = await timed('put', options.signal, () => store.put(key, source, options))
      countWritten(written.sizeBytes)
      return written
    },
    receive: async (key, source, options) => {
      const received = await timed('receive', options.signal, () => store.receive(key, source, options))
      return {
        ...received,
        keep: async (until) => {
          await timed('keep', until?.signal, () => received.keep(until))
          countWritten(received.sizeBytes)
        },
      }
    },
    putFile: async (key, path, options) => {
      const sizeBytes = await sizeOf(path)
      await timed('put_file', options?.signal, () => store.putFile(key, path, options))
      countWritten(sizeBytes)
    },
    adopt: async (key, path, options) => {
      const sizeBytes = await sizeOf(path)
      await timed('adopt', options?.signal, () => store.adopt(key, path, options))
      countWritten(sizeBytes)
    },
    find: (key, options) => timed('find', options?.signal, () => store.find(key, options)),
    open: async (key, options) => {
      const stream = await timed('open', options?.signal, () => store.open(key, options))
      if (isMeasured()) countRead(stream)
      return stream
    },
    copyTo: (key, path, options) => timed('copy', options?.signal, () => store.copyTo(key, path, options)),
    remove: (key) => timed('remove', undefined, () => store.remove(key)),
    removeMany: (keys) => timed('remove', undefined, () => store.removeMany(keys)),
    ...(presign && {
      presign: (key, options) => timed('presign', options.signal, () => presign(key, options)),
    }),
  }
}
