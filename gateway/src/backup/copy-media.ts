/**
 * Copies media files between the media directory and a backup, under their storage keys. A file appears under its name only
 * when it is complete and on the disk, so a repeated copy can trust what it finds.
 */
import { constants, type Stats } from 'node:fs'
import { copyFile, link, mkdir, open, opendir, rename, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'

import pLimit from 'p-limit'

import type { ReferencedFile } from './backup-store.ts'

const filesAtOnce = 8
const filesPerBatch = 1_000
const partialSuffix = '.partial'

const isMissing = (error: unknown) => (error as NodeJS.ErrnoException).code === 'ENOENT'

/** The result of work on a file; undefined if the file does not exist. */
export const ifExists = async <Result>(work: Promise<Result>): Promise<Result | undefined> => {
  try {
    return await work
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

const makeFolderOf = (path: string) => mkdir(dirname(path), { recursive: true, mode: 0o700 })

/** Copies a file with its modification time, by which a later copy recognizes it. */
const copyComplete = async (from: string, to: string): Promise<void> => {
  const partial = `${to}${partialSuffix}`
  const { atime, mtime } = await stat(from)
  await makeFolderOf(to)
  await copyFile(from, partial, constants.COPYFILE_FICLONE)
  const file = await open(partial)
  try {
    await file.utimes(atime, mtime)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(partial, to)
}

/** File systems store times with different precision. */
const isSame = (one: Stats, other: Stats) =>
  one.size === other.size && Math.abs(one.mtimeMs - other.mtimeMs) < 2

interface Places {
  /** The media directory. */
  source: string
  target: string
  /** Files of this backup that were copied before the snapshot. They are moved to the target. */
  early?: string
  /** The media of other backups, newest first. */
  earlier: string[]
}

type Placed = 'present' | 'moved' | 'linked' | 'copied' | undefined

/** Puts a file into a backup; undefined if it exists nowhere. A file of another size than recorded is not used. */
const placeFile = async (
  { storageKey, sizeBytes }: ReferencedFile,
  { source, target, early, earlier }: Places,
): Promise<{ how: Placed; sizeBytes: number }> => {
  const isUsable = (found: Stats | undefined): found is Stats =>
    found !== undefined && (sizeBytes === null || found.size === sizeBytes)
  const from = join(source, storageKey)
  const to = join(target, storageKey)
  const statOf = (path: string) => ifExists(stat(path))
  const placed = async (how: Placed) => ({ how, sizeBytes: (await stat(to)).size })

  if ((await statOf(to)) !== undefined) return placed('present')
  if (early !== undefined && isUsable(await statOf(join(early, storageKey)))) {
    await makeFolderOf(to)
    await rename(join(early, storageKey), to)
    return placed('moved')
  }
  const original = await statOf(from)
  if (!isUsable(original)) return { how: undefined, sizeBytes: 0 }
  await makeFolderOf(to)
  for (const other of earlier) {
    const copy = await statOf(join(other, storageKey))
    if (copy === undefined || !isSame(copy, original)) continue
    // Not every file system has hard links, and a backup that goes on at the same time may have moved the file.
    const isLinked = await link(join(other, storageKey), to).then(
      () => true,
      () => false,
    )
    if (isLinked) return placed('linked')
  }
  try {
    await copyComplete(from, to)
  } catch (error) {
    // It was deleted in the meantime.
    if (!isMissing(error) || (await statOf(from)) !== undefined) throw error
    return { how: undefined, sizeBytes: 0 }
  }
  return placed('copied')
}

export interface MediaCopy {
  files: number
  sizeBytes: number
  /** How many of them had to be copied, because no other backup has them. */
  copied: number
  copiedBytes: number
  missing: string[]
}

/** Copies the files that a database refers to. */
export const copyReferenced = async (
  pages: AsyncIterable<ReferencedFile[]>,
  places: Places,
  { signal, onProgress }: { signal: AbortSignal; onProgress: (copy: MediaCopy) => void },
): Promise<MediaCopy> => {
  const limited = pLimit(filesAtOnce)
  const copy: MediaCopy = { files: 0, sizeBytes: 0, copied: 0, copiedBytes: 0, missing: [] }
  const add = async (file: ReferencedFile) => {
    if (signal.aborted) return
    const { how, sizeBytes } = await placeFile(file, places)
    if (how === undefined) copy.missing.push(file.storageKey)
    else if (how !== 'present') {
      copy.files += 1
      copy.sizeBytes += sizeBytes
    }
    if (how === 'copied') {
      copy.copied += 1
      copy.copiedBytes += sizeBytes
    }
    onProgress(copy)
  }
  for await (const page of pages) {
    // Two rows may refer to one file, which must not be copied twice at once.
    const files = new Map(page.map((file) => [file.storageKey, file]))
    await Promise.all([...files.values()].map((file) => limited(() => add(file))))
    signal.throwIfAborted()
  }
  return copy
}

async function* filesBelow(directory: string, folder = ''): AsyncGenerator<string> {
  const entries = await ifExists(opendir(join(directory, folder)))
  if (entries === undefined) return
  for await (const entry of entries) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) yield* filesBelow(directory, path)
    else if (!entry.name.endsWith(partialSuffix)) yield path
  }
}

export const measureFolder = async (directory: string): Promise<{ files: number; sizeBytes: number }> => {
  const found = { files: 0, sizeBytes: 0 }
  for await (const path of filesBelow(directory)) {
    found.files += 1
    found.sizeBytes += (await stat(join(directory, path))).size
  }
  return found
}

/** Copies all files of a backup to the media directory. Files that are already there are skipped; none is deleted. */
export const copyFolder = async (
  from: string,
  to: string,
  { signal, onProgress }: { signal: AbortSignal; onProgress: (files: number) => void },
): Promise<void> => {
  const limited = pLimit(filesAtOnce)
  let files = 0
  const copyOne = async (path: string) => {
    if (signal.aborted) return
    const [wanted, present] = await Promise.all([stat(join(from, path)), ifExists(stat(join(to, path)))])
    if (present === undefined || !isSame(wanted, present))
      await copyComplete(join(from, path), join(to, path))
    files += 1
    onProgress(files)
  }
  const copyAll = async (paths: string[]) => {
    await Promise.all(paths.map((path) => limited(() => copyOne(path))))
    signal.throwIfAborted()
  }
  let paths: string[] = []
  for await (const path of filesBelow(from)) {
    paths.push(path)
    if (paths.length < filesPerBatch) continue
    await copyAll(paths)
    paths = []
  }
  await copyAll(paths)
}
