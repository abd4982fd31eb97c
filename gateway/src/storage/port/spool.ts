import { randomUUID } from 'node:crypto'
import type { Stats } from 'node:fs'
import { opendir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** A local directory for files that are incomplete or needed for a moment. Its files belong to running processes. */
export interface Spool {
  directory: string
  /** A path in the directory that no other file has. */
  newPath: () => string
  list: () => AsyncIterable<{ path: string; writtenAt: Date }>
  /** Removes a file that a process left behind. */
  remove: (path: string) => Promise<void>
}

const statIfExists = async (path: string): Promise<Stats | undefined> => {
  try {
    return await stat(path)
  } catch (error) {
    // A file may be removed while the directory is listed.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

export const createSpool = (directory: string): Spool => ({
  directory,
  newPath: () => join(directory, randomUUID()),
  list: async function* () {
    for await (const entry of await opendir(directory)) {
      const path = join(directory, entry.name)
      const found = await statIfExists(path)
      if (found?.isFile() === true) yield { path, writtenAt: found.mtime }
    }
  },
  remove: (path) => rm(path, { force: true }),
})
