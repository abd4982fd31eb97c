/**
 * Removes files whose time is over, batch by batch: a file goes first, and what is on record of it afterwards, so that
 * after a crash in between it is found again. What cannot be removed is left for the next time and holds up nothing.
 */
import type { Log } from '../platform/log.ts'
import type { Database, Postgres } from '../platform/postgres.ts'
import type { MediaStore } from '../storage/media-store.ts'
import type { Expired, ExpiredKind } from './expired-media-store.ts'

const perBatch = 100
const passedOverMax = 1_000

export interface RemoveDependencies {
  postgres: Postgres
  mediaStore: MediaStore
  log: Log
}

/** Answers how many went. `prepare` is given each batch before anything of it is removed, and answers what may go. */
export const removeExpiredFiles = async <Each extends Expired>(
  { postgres, mediaStore, log }: RemoveDependencies,
  { find, take, note }: ExpiredKind<Each>,
  signal: AbortSignal,
  prepare: (due: Each[]) => Promise<Each[]> = async (due) => due,
): Promise<number> => {
  const removeFiles = async ({ id, storageKeys }: Each): Promise<string[]> => {
    try {
      await Promise.all(storageKeys.map((key) => mediaStore.remove(key)))
      return [id]
    } catch (error) {
      log.warn({ err: error, id }, 'retention.not-removed')
      return []
    }
  }
  const removeBatch = async (database: Database, ids: string[]): Promise<Set<string>> => {
    const taken = await take(database, ids)
    const gone = await Promise.all(taken.map(removeFiles))
    await note(database, gone.flat())
    return new Set(gone.flat())
  }

  const passedOver: string[] = []
  let count = 0
  while (passedOver.length < passedOverMax && !signal.aborted) {
    const due = await find(postgres, { limit: perBatch, except: passedOver })
    if (due.length === 0) break
    const ready = (await prepare(due)).map(({ id }) => id)
    const gone = await postgres.transaction((database) => removeBatch(database, ready))
    count += gone.size
    passedOver.push(...due.flatMap(({ id }) => (gone.has(id) ? [] : id)))
  }
  return count
}
