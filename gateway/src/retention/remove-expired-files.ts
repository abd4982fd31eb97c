/**
 * Removes expired files in batches. The file is removed before its row is updated, so that a crash in between leaves a
 * row that is found again. A file that cannot be removed is skipped until the next sweep.
 */
import type { Log } from '../platform/log.ts'
import type { Database, Postgres } from '../platform/postgres.ts'
import { MediaNotRemoved, type MediaStore } from '../storage/port/media-store.ts'
import type { Expired, ExpiredKind } from './expired-media-store.ts'

const perBatch = 100
const skippedMax = 1_000

export interface RemoveDependencies {
  postgres: Postgres
  mediaStore: MediaStore
  log: Log
}

/** Returns the number of removed records. `prepare` gets each batch before the removal and returns what may be removed. */
export const removeExpiredFiles = async <Each extends Expired>(
  { postgres, mediaStore, log }: RemoveDependencies,
  { find, claim, markDone }: ExpiredKind<Each>,
  signal: AbortSignal,
  prepare: (due: Each[]) => Promise<Each[]> = async (due) => due,
): Promise<number> => {
  /** Returns the keys that could not be removed. */
  const removeFiles = async (keys: string[]): Promise<ReadonlyMap<string, unknown>> => {
    try {
      await mediaStore.removeMany(keys)
      return new Map()
    } catch (error) {
      if (error instanceof MediaNotRemoved) return error.failures
      throw error
    }
  }
  const removeBatch = async (database: Database, ids: string[]): Promise<Set<string>> => {
    const claimed = await claim(database, ids)
    const left = await removeFiles(claimed.flatMap(({ storageKeys }) => storageKeys))
    const removed = claimed.flatMap(({ id, storageKeys }) => {
      const failed = storageKeys.find((key) => left.has(key))
      if (failed === undefined) return id
      log.warn({ err: left.get(failed), id }, 'retention.not-removed')
      return []
    })
    await markDone(database, removed)
    return new Set(removed)
  }

  const skipped: string[] = []
  let count = 0
  while (skipped.length < skippedMax && !signal.aborted) {
    const due = await find(postgres, { limit: perBatch, except: skipped })
    if (due.length === 0) break
    const ready = (await prepare(due)).map(({ id }) => id)
    const removed = await postgres.transaction((database) => removeBatch(database, ready))
    count += removed.size
    skipped.push(...due.flatMap(({ id }) => (removed.has(id) ? [] : id)))
  }
  return count
}
