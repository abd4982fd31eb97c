import { constants, createWriteStream, type Dir, type Stats } from 'node:fs'
import { copyFile, mkdir, open, opendir, rename, rm, stat, unlink, type FileHandle } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

import pLimit from 'p-limit'

import { createMeasure } from './port/measure-stream.ts'
import { MediaNotFound, MediaNotRemoved, type ByteRange, type MediaStore } from './port/media-store.ts'
import type { Spool } from './port/spool.ts'
import { syncDirectory, syncFile, writeHashed } from './port/write-hashed.ts'

const chunkBytes = 65_536
const removalsAtOnce = 16
const wholeFile = { start: 0, end: Infinity }

const isMissing = (error: unknown) => (error as NodeJS.ErrnoException).code === 'ENOENT'

const statIfExists = async (path: string): Promise<Stats | undefined> => {
  try {
    return await stat(path)
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/** Reads a file that is opened on the first read, so that a stream nobody reads occupies no file descriptor. */
const readLazily = (path: string, key: string, { start, end }: ByteRange): Readable => {
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
        this.destroy(isMissing(error) ? new MediaNotFound(key, { cause: error }) : error)
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

/** Stores files in a directory. A file is written to the spool of the same file system and renamed when it is complete. */
export const createDiskMediaStore = (directory: string, spool: Spool): MediaStore => {
  const getPath = (key: string) => join(directory, key)

  const makeFolder = (path: string) => mkdir(dirname(path), { recursive: true, mode: 0o700 })

  /** Renames a file to its key. The name is on the disk then, with those of new folders. */
  const renameDurably = async (from: string, to: string) => {
    const made = await makeFolder(to)
    await rename(from, to)
    let folder = dirname(resolve(to))
    const top = made === undefined ? folder : dirname(resolve(made))
    await syncDirectory(folder)
    while (folder.length > top.length) {
      folder = dirname(folder)
      await syncDirectory(folder)
    }
  }

  /** Lets `write` create a file in the spool, and renames it. */
  const writeComplete = async (key: string, write: (temporary: string) => Promise<void>) => {
    const temporary = spool.newPath()
    try {
      await makeFolder(temporary)
      await write(temporary)
      await makeFolder(getPath(key))
      await rename(temporary, getPath(key))
    } catch (error) {
      await rm(temporary, { force: true })
      throw error
    }
  }

  const put: MediaStore['put'] = async (key, source, { sizeBytesMax, signal }) => {
    const measure = createMeasure(sizeBytesMax)
    await writeComplete(key, (temporary) =>
      pipeline(source, measure.stream, createWriteStream(temporary, { mode: 0o600, flush: true }), {
        signal,
      }),
    )
    return measure.result()
  }

  const receive: MediaStore['receive'] = async (key, source, options) => {
    const path = spool.newPath()
    await makeFolder(path)
    const written = await writeHashed(path, source, options)
    const discard = () => rm(path, { force: true })
    return {
      path,
      ...written,
      discard,
      keep: async () => {
        try {
          await syncFile(path)
          await renameDurably(path, getPath(key))
        } catch (error) {
          await discard()
          throw error
        }
      },
    }
  }

  const putFile: MediaStore['putFile'] = (key, path) =>
    writeComplete(key, async (temporary) => {
      const { atime, mtime } = await stat(path)
      await copyFile(path, temporary, constants.COPYFILE_FICLONE)
      const file = await open(temporary)
      try {
        await file.utimes(atime, mtime)
        await file.sync()
      } finally {
        await file.close()
      }
    })

  const find: MediaStore['find'] = async (key) => {
    const found = await statIfExists(getPath(key))
    return found && { sizeBytes: found.size, writtenAt: found.mtime }
  }

  /** Works on the path of a file. If the file is gone when the work fails, that was the cause. */
  const withPath = async <Result>(key: string, work: (path: string) => Promise<Result>): Promise<Result> => {
    const path = getPath(key)
    if ((await statIfExists(path)) === undefined) throw new MediaNotFound(key)
    try {
      return await work(path)
    } catch (error) {
      if ((await statIfExists(path)) === undefined) throw new MediaNotFound(key, { cause: error })
      throw error
    }
  }

  const remove = (key: string) => rm(getPath(key), { force: true })

  async function* list(folder: string): ReturnType<MediaStore['list']> {
    let entries: Dir
    try {
      entries = await opendir(getPath(folder))
    } catch (error) {
      if (isMissing(error)) return
      throw error
    }
    for await (const entry of entries) {
      const key = `${folder}/${entry.name}`
      if (entry.isDirectory()) yield* list(key)
      else {
        // A file may be removed while its folder is listed.
        const found = await statIfExists(getPath(key))
        if (found !== undefined) yield { key, sizeBytes: found.size, storedAt: found.mtime }
      }
    }
  }

  return {
    put,
    receive,
    putFile,
    find,
    remove,
    list,
    adopt: async (key, path) => {
      await makeFolder(getPath(key))
      await rename(path, getPath(key)).catch(async (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EXDEV') throw error
        await putFile(key, path)
        await unlink(path)
      })
    },
    open: async (key, { range = wholeFile } = {}) => {
      if ((await find(key)) === undefined) throw new MediaNotFound(key)
      return readLazily(getPath(key), key, range)
    },
    copyTo: (key, path) => withPath(key, (from) => copyFile(from, path, constants.COPYFILE_FICLONE)),
    withLocalPath: withPath,
    removeMany: async (keys) => {
      const limited = pLimit(removalsAtOnce)
      const failures = new Map<string, unknown>()
      const tryToRemove = (key: string) => remove(key).catch((error: unknown) => failures.set(key, error))
      await Promise.all(keys.map((key) => limited(() => tryToRemove(key))))
      if (failures.size > 0) throw new MediaNotRemoved(failures)
    },
  }
}
