import type { Stats } from 'node:fs'
import { opendir, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'

import { isOwnSpoolFile, newSpoolPath } from '../../platform/streams/spool-path.ts'
import { writeHashed } from './write-hashed.ts'

export interface SpooledFile {
  path: string
  sizeBytes: number
  sha256: string
}

/** A local directory for files that are incomplete or needed for a moment. Its files belong to running processes. */
export interface Spool {
  directory: string
  /** A path in the directory that no other file has. */
  newPath: () => string
  /** Writes a stream to a new file. Fails like the `put` of a store, and leaves nothing then. */
  write: (
    source: Readable,
    options: { sizeBytesMax: number; signal?: AbortSignal | undefined },
  ) => Promise<SpooledFile>
  list: () => AsyncIterable<{ path: string; usedAt: Date }>
  /** Marks the files of this process as used, so that no other process takes them for leftovers. */
  markUsed: (now: Date) => Promise<void>
  /** Removes a file that a process left behind. */
  remove: (path: string) => Promise<void>
}

/** A file may be removed while the directory is listed. */
const ignoreMissing = (error: NodeJS.ErrnoException): undefined => {
  if (error.code !== 'ENOENT') throw error
}

const statIfExists = (path: string): Promise<Stats | undefined> => stat(path).catch(ignoreMissing)

/** The directory is made when something is written. */
const openIfExists = async (directory: string) => (await opendir(directory).catch(ignoreMissing)) ?? []

export const createSpool = (directory: string): Spool => ({
  directory,
  newPath: () => newSpoolPath(directory),
  write: async (source, options) => {
    const path = newSpoolPath(directory)
    return { path, ...(await writeHashed(path, source, options)) }
  },
  list: async function* () {
    for await (const entry of await openIfExists(directory)) {
      const path = join(directory, entry.name)
      const found = await statIfExists(path)
      // A copy has the time of modification of its original, so the time of its own last change counts too.
      if (found?.isFile() === true) yield { path, usedAt: new Date(Math.max(found.mtimeMs, found.ctimeMs)) }
    }
  },
  markUsed: async (now) => {
    for await (const { name } of await openIfExists(directory)) {
      if (isOwnSpoolFile(name)) await utimes(join(directory, name), now, now).catch(ignoreMissing)
    }
  },
  remove: (path) => rm(path, { force: true }),
})
