import { createHash, randomUUID } from 'node:crypto'
import { createWriteStream, type Dir } from 'node:fs'
import { copyFile, mkdir, open, opendir, rename, rm, stat, unlink, type FileHandle } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'

import { FileTooLarge, type MediaStore } from './media-store.ts'

const chunkBytes = 65_536
const wholeFile = { start: 0, end: Infinity }

const isMissing = (error: unknown) => (error as NodeJS.ErrnoException).code === 'ENOENT'

/** Reads a file that is opened on the first read, so that a stream nobody reads occupies no file descriptor. */
const readLazily = (path: string, { start, end }: { start: number; end: number } = wholeFile): Readable => {
  let file: FileHandle | undefined
  let position = start
  let reading = Promise.resolve()
  const readNext = async (stream: Readable, sizeBytes: number) => {
    file ??= await open(path)
    const length = Math.min(sizeBytes, end - position + 1)
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(length), 0, length, position)
    // Whoever waits for all bytes of a range would wait in vain.
    if (bytesRead === 0 && position <= end && end !== Infinity)
      throw new Error(`${path} has ${position} bytes, and more were expected`)
    position += bytesRead
    stream.push(bytesRead === 0 ? null : buffer.subarray(0, bytesRead))
  }
  return new Readable({
    highWaterMark: chunkBytes,
    read(sizeBytes) {
      reading = readNext(this, sizeBytes).catch((error: Error) => {
        this.destroy(error)
      })
    },
    destroy: (error, done) => {
      // Waits for the current read, which may still be opening the file.
      reading
        .then(() => file?.close())
        .then(
          () => done(error),
          (failure: Error) => done(error ?? failure),
        )
    },
  })
}

/** Stores files in a directory. A file is written to the spool and renamed when it is complete. */
export const createDiskMediaStore = async (directory: string): Promise<MediaStore> => {
  const spoolDirectory = join(directory, 'spool')
  await mkdir(spoolDirectory, { recursive: true, mode: 0o700 })
  const pathOf = (key: string) => join(directory, key)

  const put: MediaStore['put'] = async (key, source, sizeBytesMax) => {
    const temporary = join(spoolDirectory, randomUUID())
    const hash = createHash('sha256')
    let sizeBytes = 0
    const measure = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        sizeBytes += chunk.length
        if (sizeBytes > sizeBytesMax) return done(new FileTooLarge(sizeBytesMax))
        hash.update(chunk)
        done(null, chunk)
      },
    })
    try {
      await pipeline(source, measure, createWriteStream(temporary, { mode: 0o600, flush: true }))
      await mkdir(dirname(pathOf(key)), { recursive: true, mode: 0o700 })
      await rename(temporary, pathOf(key))
    } catch (error) {
      await rm(temporary, { force: true })
      throw error
    }
    return { sizeBytes, sha256: hash.digest('hex') }
  }

  const writtenAt = async (path: string): Promise<Date | undefined> => {
    try {
      return (await stat(path)).mtime
    } catch (error) {
      // A file may be removed while its folder is listed.
      if (isMissing(error)) return undefined
      throw error
    }
  }

  async function* list(folder: string): ReturnType<MediaStore['list']> {
    let entries: Dir
    try {
      entries = await opendir(pathOf(folder))
    } catch (error) {
      if (isMissing(error)) return
      throw error
    }
    for await (const entry of entries) {
      const key = `${folder}/${entry.name}`
      if (entry.isDirectory()) yield* list(key)
      else {
        const at = await writtenAt(pathOf(key))
        if (at !== undefined) yield { key, writtenAt: at }
      }
    }
  }

  return {
    spoolDirectory,
    put,
    list,
    adopt: async (key, path) => {
      await mkdir(dirname(pathOf(key)), { recursive: true, mode: 0o700 })
      await rename(path, pathOf(key)).catch(async (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EXDEV') throw error
        await copyFile(path, pathOf(key))
        await unlink(path)
      })
    },
    open: async (key, range) => {
      return (await writtenAt(pathOf(key))) === undefined ? undefined : readLazily(pathOf(key), range)
    },
    withLocalPath: (key, work) => work(pathOf(key)),
    remove: (key) => rm(pathOf(key), { force: true }),
  }
}
