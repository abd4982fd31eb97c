/**
 * Removes the files of deleted rows. A transaction that deletes rows requests the removal of their files, so that neither a
 * crash nor an unavailable store leaves them behind.
 */
import type { Log } from '../../platform/log.ts'
import type { Database } from '../../platform/postgres.ts'
import { MediaNotRemoved, type MediaStore } from '../port/media-store.ts'
import { forgetFileRemovals, takeDueFileRemovals, type FileRemoval } from './file-removal-store.ts'

export interface RemovalDependencies {
  postgres: Database
  mediaStore: MediaStore
  log: Log
}

const perSweep = 1_000

/** Returns the keys that could not be removed, with the cause of each. */
export const tryRemove = async (
  mediaStore: MediaStore,
  keys: string[],
): Promise<ReadonlyMap<string, unknown>> => {
  try {
    await mediaStore.removeMany(keys)
    return new Map()
  } catch (error) {
    return error instanceof MediaNotRemoved ? error.failures : new Map(keys.map((key) => [key, error]))
  }
}

/** Tries once and does not fail, because the sweep tries again. Returns the number of removed files. */
export const removeFiles = async (
  { postgres, mediaStore, log }: RemovalDependencies,
  removals: FileRemoval[],
): Promise<number> => {
  if (removals.length === 0) return 0
  const left = await tryRemove(
    mediaStore,
    removals.map(({ storageKey }) => storageKey),
  )
  const [first] = left
  if (first !== undefined) log.warn({ err: first[1], key: first[0], files: left.size }, 'file.not-removed')
  const removed = removals.flatMap(({ id, storageKey }) => (left.has(storageKey) ? [] : id))
  if (removed.length === 0) return 0
  await forgetFileRemovals(postgres, removed).catch((error: unknown) =>
    log.warn({ err: error }, 'file.removal-not-noted'),
  )
  return removed.length
}

/** Removes the files whose removal is due again. */
export const removeDueFiles = async (
  dependencies: RemovalDependencies,
  signal: AbortSignal,
): Promise<number> => {
  let count = 0
  for (let taken = perSweep; taken === perSweep && !signal.aborted;) {
    const due = await takeDueFileRemovals(dependencies.postgres, perSweep)
    taken = due.length
    count += await removeFiles(dependencies, due)
  }
  return count
}
