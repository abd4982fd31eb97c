import { findOrphans, findSpooled } from './find-orphans.ts'
import type { RemoveDependencies } from './remove-expired-files.ts'

const manyOrphans = 100

/**
 * Removes files that nothing on record leads to. Where they are many and most of all files, it is likelier that this is
 * the directory of another database, and none is touched.
 */
export const sweepFiles = async (
  { postgres, mediaStore, log }: RemoveDependencies,
  signal: AbortSignal,
): Promise<number> => {
  const { keys, known } = await findOrphans({ postgres, mediaStore }, signal)
  if (keys.length > manyOrphans && keys.length > known) {
    log.error({ unknown: keys.length, known }, 'retention.strange-directory')
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
