/**
 * Copies media between the media store and a backup, which is a directory of files with the storage keys as paths. A file
 * appears under its name only when it is complete and on the disk, so a repeated copy can trust what it finds.
 */
import { link, mkdir, open, opendir, rename, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'

import pLimit from 'p-limit'

import { MediaNotFound, type MediaStore, type ObjectInfo } from '../storage/port/media-store.ts'
import type { ReferencedFile } from './backup-store.ts'

const filesAtOnce = 8
const filesPerBatch = 1_000
const partialSuffix = '.partial'

const isMissing = (error: unknown) => (error as NodeJS.ErrnoException).code === 'ENOENT'

/** The result of work on a file; undefined if the file does not exist. */
const ifExists = async <Result>(work: Promise<Result>): Promise<Result | undefined> => {
  try {
    return await work
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

const makeFolderOf = (path: string) => mkdir(dirname(path), { recursive: true, mode: 0o700 })

const findFile = async (path: string): Promise<ObjectInfo | undefined> => {
  const found = await ifExists(stat(path))
  return found && { sizeBytes: found.size, writtenAt: found.mtime }
}

/** Copies an object to a file with the same modification time, by which a later backup recognizes it. */
const copyComplete = async (
  source: MediaStore,
  storageKey: string,
  { writtenAt }: ObjectInfo,
  to: string,
  signal: AbortSignal,
): Promise<void> => {
  const partial = `${to}${partialSuffix}`
  await makeFolderOf(to)
  await source.copyTo(storageKey, partial, { signal })
  const file = await open(partial, 'r+')
  try {
    await file.utimes(writtenAt, writtenAt)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(partial, to)
}

/** File systems store times with different precision. */
const isSame = (one: ObjectInfo, other: ObjectInfo) =>
  one.sizeBytes === other.sizeBytes && Math.abs(one.writtenAt.getTime() - other.writtenAt.getTime()) < 2

interface Places {
  source: MediaStore
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
  signal: AbortSignal,
): Promise<{ how: Placed; sizeBytes: number }> => {
  const isUsable = (found: ObjectInfo | undefined): found is ObjectInfo =>
    found !== undefined && (sizeBytes === null || found.sizeBytes === sizeBytes)
  const to = join(target, storageKey)
  const placed = async (how: Placed) => ({ how, sizeBytes: (await stat(to)).size })

  if ((await findFile(to)) !== undefined) return placed('present')
  if (early !== undefined && isUsable(await findFile(join(early, storageKey)))) {
    await makeFolderOf(to)
    await rename(join(early, storageKey), to)
    return placed('moved')
  }
  const original = await source.find(storageKey, { signal })
  if (!isUsable(original)) return { how: undefined, sizeBytes: 0 }
  await makeFolderOf(to)
  for (const other of earlier) {
    const copy = await findFile(join(other, storageKey))
    if (copy === undefined || !isSame(copy, original)) continue
    // Not every file system has hard links, and a backup that goes on at the same time may have moved the file.
    const isLinked = await link(join(other, storageKey), to).then(
      () => true,
      () => false,
    )
    if (isLinked) return placed('linked')
  }
  try {
    await copyComplete(source, storageKey, original, to, signal)
  } catch (error) {
    // It was deleted in the meantime.
    if (!(error instanceof MediaNotFound)) throw error
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
    const { how, sizeBytes } = await placeFile(file, places, signal)
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

/** Stores all files of a backup. Objects that the store has already are skipped; none is deleted. */
export const storeFolder = async (
  from: string,
  mediaStore: MediaStore,
  { signal, onProgress }: { signal: AbortSignal; onProgress: (files: number) => void },
): Promise<void> => {
  const limited = pLimit(filesAtOnce)
  let files = 0
  const copyOne = async (path: string) => {
    if (signal.aborted) return
    const file = join(from, path)
    const [wanted, present] = await Promise.all([findFile(file), mediaStore.find(path, { signal })])
    if (wanted === undefined || present === undefined || !isSame(wanted, present))
      await mediaStore.putFile(path, file, { signal })
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
