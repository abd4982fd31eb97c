/** Finds and removes files without a database row, such as partial uploads of a process that died. */
import type { Database } from '../platform/postgres.ts'
import type { MediaStore } from '../storage/media-store.ts'
import { knownKeys } from './expired-media-store.ts'
import type { RemoveDependencies } from './remove-expired-files.ts'

const folders = ['videos', 'variants', 'references', 'characters', 'recordings']
// A file is written before its row. The row follows within this time.
const graceMs = 86_400_000
const keysPerQuery = 500
const orphansMax = 10_000
const manyOrphans = 100

export interface Orphans {
  keys: string[]
  /** The number of files with a row. */
  known: number
}

export const findOrphans = async (
  { postgres, mediaStore }: { postgres: Database; mediaStore: MediaStore },
  signal: AbortSignal,
): Promise<Orphans> => {
  const found: Orphans = { keys: [], known: 0 }
  const check = async (keys: string[]) => {
    const known = await knownKeys(postgres, keys)
    found.known += known.size
    found.keys.push(...keys.filter((key) => !known.has(key)))
  }
  const isOld = (writtenAt: Date) => writtenAt.getTime() < Date.now() - graceMs
  for (const folder of folders) {
    let keys: string[] = []
    for await (const { key, writtenAt } of mediaStore.list(folder)) {
      if (signal.aborted || found.keys.length >= orphansMax) return found
      if (!isOld(writtenAt)) continue
      keys.push(key)
      if (keys.length < keysPerQuery) continue
      await check(keys)
      keys = []
    }
    await check(keys)
  }
  return found
}

/** Old partial uploads in the spool folder, which never have a row. */
export const findSpooled = async (mediaStore: MediaStore): Promise<string[]> => {
  const keys: string[] = []
  for await (const { key, writtenAt } of mediaStore.list('spool')) {
    if (writtenAt.getTime() < Date.now() - graceMs) keys.push(key)
    if (keys.length >= orphansMax) break
  }
  return keys
}

/**
 * Removes files without a row. If they are many and outnumber the known files, the directory probably belongs to another
 * database, and nothing is removed.
 */
export const removeOrphans = async (
  { postgres, mediaStore, log }: RemoveDependencies,
  signal: AbortSignal,
): Promise<number> => {
  const { keys, known } = await findOrphans({ postgres, mediaStore }, signal)
  if (keys.length > manyOrphans && keys.length > known) {
    log.error({ unknown: keys.length, known }, 'retention.foreign-directory')
    return 0
  }
  let count = 0
  for (const key of [...keys, ...(await findSpooled(mediaStore))]) {
    if (signal.aborted) break
    await mediaStore.remove(key)
    count += 1
  }
  return count
}
