/** Finds and removes objects without a database row, such as those of a process that died before it added the row. */
import { count as countMetric } from '../platform/metrics/metrics.ts'
import type { Database } from '../platform/postgres.ts'
import type { MediaStore } from '../storage/port/media-store.ts'
import { knownKeys } from './expired-media-store.ts'
import { storedFiles } from './personal-data.ts'
import type { RemoveDependencies } from './remove-expired-files.ts'

const folders = Object.entries(storedFiles).flatMap(([folder, { hasRows }]) => (hasRows ? folder : []))
// A file is written before its row. The row follows within this time.
const graceMs = 86_400_000
const keysPerQuery = 500
const keysPerRemoval = 100
const orphansMax = 10_000
const manyOrphans = 100

const isOld = (time: Date, minAgeMs: number) => time.getTime() < Date.now() - minAgeMs

export interface Orphans {
  keys: string[]
  /** The number of files with a row. */
  known: number
  /** The number of files that were not looked for, because their row may follow. */
  young: number
  /** Whether the whole store was listed. */
  isWhole: boolean
}

export const findOrphans = async (
  { postgres, mediaStore }: { postgres: Database; mediaStore: MediaStore },
  signal: AbortSignal,
  minAgeMs = graceMs,
): Promise<Orphans> => {
  const found: Orphans = { keys: [], known: 0, young: 0, isWhole: false }
  const check = async (keys: string[]) => {
    const known = await knownKeys(postgres, keys)
    found.known += known.size
    found.keys.push(...keys.filter((key) => !known.has(key)))
  }
  for (const folder of folders) {
    let keys: string[] = []
    for await (const { key, storedAt } of mediaStore.list(folder)) {
      if (signal.aborted || found.keys.length >= orphansMax) return found
      if (!isOld(storedAt, minAgeMs)) {
        found.young += 1
        continue
      }
      keys.push(key)
      if (keys.length < keysPerQuery) continue
      await check(keys)
      keys = []
    }
    await check(keys)
  }
  return { ...found, isWhole: true }
}

/** Files without a row that are many and outnumber the known ones: the store probably belongs to another database. */
export const isForeign = ({ keys, known }: Orphans): boolean =>
  keys.length > manyOrphans && keys.length > known

/** The credentials of the store may not allow to list uploads. A rule of the bucket should remove them as well. */
const removeUnfinished = async ({ mediaStore, log }: Pick<RemoveDependencies, 'mediaStore' | 'log'>) => {
  try {
    const removed = await mediaStore.removeUnfinished?.(new Date(Date.now() - graceMs))
    if (removed !== undefined && removed > 0) log.info({ removed }, 'retention.uploads-aborted')
  } catch (error) {
    log.warn({ err: error }, 'retention.uploads-not-aborted')
  }
}

/** Removes files without a row, unless the store is foreign. */
export const removeOrphans = async (
  { postgres, mediaStore, log }: RemoveDependencies,
  signal: AbortSignal,
): Promise<number> => {
  const found = await findOrphans({ postgres, mediaStore }, signal)
  const { keys, known } = found
  if (isForeign(found)) {
    log.error({ unknown: keys.length, known }, 'retention.foreign-directory')
    return 0
  }
  await removeUnfinished({ mediaStore, log })
  let count = 0
  for (let start = 0; start < keys.length && !signal.aborted; start += keysPerRemoval) {
    const batch = keys.slice(start, start + keysPerRemoval)
    await mediaStore.removeMany(batch)
    countMetric('kinora.storage.orphans.removed', {}, batch.length)
    count += batch.length
  }
  return count
}
