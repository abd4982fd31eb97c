import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'

import { manifestName } from './manifest.ts'

const namePattern = /^\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}Z$/

/** The name of a backup that is made at this time. */
export const backupNameAt = (time: Date): string =>
  time
    .toISOString()
    .replace(/\.\d+Z$/, 'Z')
    .replaceAll(':', '-')

export interface FoundBackup {
  path: string
  isComplete: boolean
}

/** The backups in a directory, newest first. */
export const listBackups = async (directory: string): Promise<FoundBackup[]> => {
  const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return []
    throw error
  })
  const found = names.filter((name) => namePattern.test(name)).toSorted()
  return Promise.all(
    found.toReversed().map(async (name) => {
      const path = join(directory, name)
      const isComplete = await stat(join(path, manifestName)).then(
        () => true,
        () => false,
      )
      return { path, isComplete }
    }),
  )
}
