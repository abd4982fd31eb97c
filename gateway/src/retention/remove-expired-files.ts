/**
 * Removes expired files in batches. The file is removed before its row is updated, so that a crash in between leaves a
 * row that is found again. A file that cannot be removed is skipped until the next sweep.
 */
import type { Log } from '../platform/log.ts'
import type { Database, Postgres } from '../platform/postgres.ts'
import type { MediaStore } from '../storage/port/media-store.ts'
import { tryRemove } from '../storage/removal/remove-files.ts'
import type { Expired, ExpiredKind } from './expired-media-store.ts'

const perBatch = 100
const skippedMax = 1_000

export interface RemoveDependencies {
  postgres: Postgres
  mediaStore: MediaStore
  log: Log
}

interface Steps<Each extends Expired> {
  /** Gets each batch before the removal, and returns what may be removed. */
  choose: (due: Each[]) => Promise<Each[]>
  /** Writes in the transaction that notes the removal. */
  alongside: (database: Database, removed: Each[]) => Promise<void>
}

/** Returns the number of removed records. */
export const removeExpiredFiles = async <Each extends Expired>(
  { postgres, mediaStore, log }: RemoveDependencies,
  { find, claim, markDone }: ExpiredKind<Each>,
  signal: AbortSignal,
  { choose, alongside }: Partial<Steps<Each>> = {},
): Promise<number> => {
  const removeBatch = async (database: Database, ids: string[]): Promise<Set<string>> => {
    const claimed = await claim(database, ids)
    const left = await tryRemove(
      mediaStore,
      claimed.flatMap(({ storageKeys }) => storageKeys),
    )
    const removed = claimed.filter(({ id, storageKeys }) => {
      const failed = storageKeys.find((key) => left.has(key))
      if (failed !== undefined) log.warn({ err: left.get(failed), id }, 'retention.not-removed')
      return failed === undefined
    })
    const removedIds = removed.map(({ id }) => id)
    await markDone(database, removedIds)
    await alongside?.(database, removed)
    return new Set(removedIds)
  }

  const skipped: string[] = []
  let count = 0
  while (skipped.length < skippedMax && !signal.aborted) {
    const due = await find(postgres, { limit: perBatch, except: skipped })
    if (due.length === 0) break
    const ready = ((await choose?.(due)) ?? due).map(({ id }) => id)
    const removed = await postgres.transaction((database) => removeBatch(database, ready))
    count += removed.size
    skipped.push(...due.flatMap(({ id }) => (removed.has(id) ? [] : id)))
  }
  return count
}
