import { randomUUID } from 'node:crypto'
import { createWriteStream, type Stats } from 'node:fs'
import { opendir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

import { createMeasure } from './measure-stream.ts'

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
  /** Writes a stream to a new file, on the disk and not only in memory. Fails like the `put` of a store, and leaves nothing then. */
  write: (
    source: Readable,
    options: { sizeBytesMax: number; signal?: AbortSignal | undefined },
  ) => Promise<SpooledFile>
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
  write: async (source, { sizeBytesMax, signal }) => {
    const path = join(directory, randomUUID())
    const measure = createMeasure(sizeBytesMax)
    const file = createWriteStream(path, { mode: 0o600, flush: true })
    try {
      await pipeline(source, measure.stream, file, { signal })
    } catch (error) {
      await rm(path, { force: true })
      throw error
    }
    return { path, ...measure.result() }
  },
  list: async function* () {
    for await (const entry of await opendir(directory)) {
      const path = join(directory, entry.name)
      const found = await statIfExists(path)
      if (found?.isFile() === true) yield { path, writtenAt: found.mtime }
    }
  },
  remove: (path) => rm(path, { force: true }),
})
