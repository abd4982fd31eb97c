/** Finds and removes files without a database row, such as partial uploads of a process that died. */
import type { Database } from '../platform/postgres.ts'
import type { MediaStore } from '../storage/port/media-store.ts'
import type { Spool } from '../storage/port/spool.ts'
import { knownKeys } from './expired-media-store.ts'
import type { RemoveDependencies } from './remove-expired-files.ts'

export interface OrphanDependencies extends RemoveDependencies {
  spool: Spool
}

const folders = ['videos', 'variants', 'references', 'characters', 'recordings']
// A file is written before its row. The row follows within this time.
const graceMs = 86_400_000
const keysPerQuery = 500
const keysPerRemoval = 100
const orphansMax = 10_000
const manyOrphans = 100

const isOld = (time: Date) => time.getTime() < Date.now() - graceMs

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
  for (const folder of folders) {
    let keys: string[] = []
    for await (const { key, storedAt } of mediaStore.list(folder)) {
      if (signal.aborted || found.keys.length >= orphansMax) return found
      if (!isOld(storedAt)) continue
      keys.push(key)
      if (keys.length < keysPerQuery) continue
      await check(keys)
      keys = []
    }
    await check(keys)
  }
  return found
}

/** Paths of old files in the spool, which a process left behind. */
export const findSpooled = async (spool: Spool): Promise<string[]> => {
  const paths: string[] = []
  for await (const { path, writtenAt } of spool.list()) {
    if (isOld(writtenAt)) paths.push(path)
    if (paths.length >= orphansMax) break
  }
  return paths
}

/**
 * Removes files without a row. If they are many and outnumber the known files, the directory probably belongs to another
 * database, and nothing is removed.
 */
export const removeOrphans = async (
  { postgres, mediaStore, spool, log }: OrphanDependencies,
  signal: AbortSignal,
): Promise<number> => {
  const { keys, known } = await findOrphans({ postgres, mediaStore }, signal)
  if (keys.length > manyOrphans && keys.length > known) {
    log.error({ unknown: keys.length, known }, 'retention.foreign-directory')
    return 0
  }
  let count = 0
  for (let start = 0; start < keys.length && !signal.aborted; start += keysPerRemoval) {
    const batch = keys.slice(start, start + keysPerRemoval)
    await mediaStore.removeMany(batch)
    count += batch.length
  }
  for (const path of await findSpooled(spool)) {
    if (signal.aborted) break
    await spool.remove(path)
    count += 1
  }
  return count
}
