/**
 * Two stores during a migration between them. Objects are written to the current store, and read from the other one if the
 * current one lacks them. An object in both is listed twice.
 */
import { MediaNotFound, MediaNotRemoved, type MediaStore } from './port/media-store.ts'

export const createFallbackMediaStore = (current: MediaStore, other: MediaStore): MediaStore => {
  const readFirst = async <Result>(read: (store: MediaStore) => Promise<Result>): Promise<Result> => {
    try {
      return await read(current)
    } catch (error) {
      if (!(error instanceof MediaNotFound)) throw error
      return read(other)
    }
  }

  // A migration removes its copy if the source has no object afterwards, so the source must be cleared before the target.
  // Either store can be the source: this order is right for both.
  const inOrderOfRemoval = [other, current, other]

  return {
    put: current.put,
    receive: current.receive,
    putFile: current.putFile,
    adopt: current.adopt,
    find: async (key, options) => (await current.find(key, options)) ?? other.find(key, options),
    open: (key, options) => readFirst((store) => store.open(key, options)),
    copyTo: (key, path, options) => readFirst((store) => store.copyTo(key, path, options)),
    withLocalPath: (key, work, options) => readFirst((store) => store.withLocalPath(key, work, options)),
    remove: async (key) => {
      for (const store of inOrderOfRemoval) await store.remove(key)
    },
    removeMany: async (keys) => {
      const failures = new Map<string, unknown>()
      for (const store of inOrderOfRemoval) {
        try {
          await store.removeMany(keys)
        } catch (error) {
          if (!(error instanceof MediaNotRemoved)) throw error
          for (const [key, cause] of error.failures) failures.set(key, cause)
        }
      }
      if (failures.size > 0) throw new MediaNotRemoved(failures)
    },
    list: async function* (folder) {
      yield* current.list(folder)
      yield* other.list(folder)
    },
    presign: async (key, options) => {
      const store = (await current.find(key)) === undefined ? other : current
      return store.presign?.(key, options)
    },
    removeUnfinished: async (startedBefore) =>
      ((await current.removeUnfinished?.(startedBefore)) ?? 0) +
      ((await other.removeUnfinished?.(startedBefore)) ?? 0),
    findProblem: async () => (await current.findProblem?.()) ?? (await other.findProblem?.()),
  }
}
