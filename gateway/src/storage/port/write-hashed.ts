import { createHash } from 'node:crypto'
import { open, rm, type FileHandle } from 'node:fs/promises'
import { addAbortSignal, type Readable } from 'node:stream'

import { FileTooLarge } from './media-store.ts'

export interface WriteOptions {
  sizeBytesMax: number
  signal?: AbortSignal | undefined
  /** Sees each chunk before it is written. */
  onChunk?: ((chunk: Buffer) => void) | undefined
  /** Called with the length of the file whenever it has grown. */
  onWritten?: ((sizeBytes: number) => void) | undefined
}

// Each write is a switch between threads, so chunks are gathered.
const gatheredBytes = 262_144
const gatheredChunks = 512

/** A write may end early, for example on a full disk. */
const writeAll = async (file: FileHandle, chunks: Buffer[]): Promise<void> => {
  for (let left = chunks; left.length > 0;) {
    let { bytesWritten } = await file.writev(left)
    const first = left.findIndex((chunk) => {
      if (bytesWritten < chunk.length) return true
      bytesWritten -= chunk.length
      return false
    })
    left = first === -1 ? [] : left.slice(first)
    if (bytesWritten > 0 && left[0] !== undefined) left[0] = left[0].subarray(bytesWritten)
  }
}

/**
 * Writes a stream to a new file and hashes it on the way. A chunk is received while the one before is written. Fails like the
 * `put` of a store, and leaves nothing then.
 */
export const writeHashed = async (
  path: string,
  source: Readable,
  { sizeBytesMax, signal, onChunk, onWritten }: WriteOptions,
): Promise<{ sizeBytes: number; sha256: string }> => {
  const hash = createHash('sha256')
  let sizeBytes = 0
  let gathered: Buffer[] = []
  let gatheredSize = 0
  let writing = Promise.resolve()
  try {
    // It may fail before it is read.
    source.on('error', () => undefined)
    if (signal !== undefined) addAbortSignal(signal, source)
    await using file = await open(path, 'wx', 0o600)
    const writeGathered = () => {
      const [chunks, end] = [gathered, sizeBytes]
      ;[gathered, gatheredSize] = [[], 0]
      writing = writeAll(file, chunks).then(() => onWritten?.(end))
      // It is awaited before the next one.
      writing.catch(() => undefined)
    }
    try {
      for await (const chunk of source as AsyncIterable<Buffer>) {
        sizeBytes += chunk.length
        if (sizeBytes > sizeBytesMax) throw new FileTooLarge(sizeBytesMax)
        hash.update(chunk)
        onChunk?.(chunk)
        gathered.push(chunk)
        gatheredSize += chunk.length
        if (gatheredSize < gatheredBytes && gathered.length < gatheredChunks) continue
        await writing
        writeGathered()
      }
      await writing
      writeGathered()
    } finally {
      await writing
    }
    return { sizeBytes, sha256: hash.digest('hex') }
  } catch (error) {
    await rm(path, { force: true })
    throw error
  } finally {
    source.destroy()
  }
}

/** Waits until the content of a file is on the disk, and not only in memory. */
export const syncFile = async (path: string): Promise<void> => {
  await using file = await open(path, 'r+')
  await file.sync()
}

/** Waits until the names in a directory are on the disk. Some file systems of a network cannot, and need not. */
export const syncDirectory = async (path: string): Promise<void> => {
  await using directory = await open(path)
  await directory.sync().catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EINVAL') throw error
  })
}
