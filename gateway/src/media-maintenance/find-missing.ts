/** Finds rows whose object is missing. */
import pLimit from 'p-limit'

import { findFiles, referencedFiles } from '../backup/backup-store.ts'
import type { Database } from '../platform/postgres.ts'
import type { MediaStore } from '../storage/port/media-store.ts'

const objectsAtOnce = 16
const keysPerQuery = 500

/** The keys among these that the database still needs: not deleted in the meantime, and not expired. */
export const keysNeeded = async (database: Database, keys: string[]): Promise<string[]> => {
  const needed: string[] = []
  for (let start = 0; start < keys.length; start += keysPerQuery) {
    const found = await findFiles(database, keys.slice(start, start + keysPerQuery))
    needed.push(...found.needed)
  }
  return needed
}

/** The keys of rows whose object is missing, without those that have expired. */
export const findMissing = async (
  database: Database,
  mediaStore: MediaStore,
  { signal, onProgress }: { signal: AbortSignal; onProgress: (checked: number) => void },
): Promise<string[]> => {
  const limited = pLimit(objectsAtOnce)
  const missing: string[] = []
  let checked = 0
  const check = async (key: string) => {
    if (signal.aborted) return
    if ((await mediaStore.find(key, { signal })) === undefined) missing.push(key)
    checked += 1
    onProgress(checked)
  }
  for await (const page of referencedFiles(database)) {
    await Promise.all(page.map(({ storageKey }) => limited(() => check(storageKey))))
    signal.throwIfAborted()
  }
  return keysNeeded(database, missing)
}
