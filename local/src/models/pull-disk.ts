/** The file operations of a pull, with error messages that contain a fix. */
import { constants } from 'node:fs'
import { mkdir, open, rename, rm, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'

import { hashFile } from './hash-file.ts'

/** The model directory itself has a problem, so another source would not help. */
export class DirectoryFailure extends Error {}

const megabytes = (bytes: number) => `${Math.ceil(bytes / 1e6)} MB`

const explain = (directory: string, error: unknown): unknown => {
  const { code = '' } = error as NodeJS.ErrnoException
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new DirectoryFailure(
      `There is no space left in ${directory}. Free some, or choose another directory with MODEL_DIR.`,
    )
  }
  if (['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EISDIR', 'EEXIST', 'ENOENT', 'EIO'].includes(code)) {
    return new DirectoryFailure(
      `${directory} is not writable (${code}). Make it writable, or choose another directory with MODEL_DIR.`,
    )
  }
  return error
}

/** Runs a file operation and adds a fix to its error message. */
export async function onDisk<Value>(directory: string, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work()
  } catch (error) {
    throw explain(directory, error)
  }
}

export async function assertFreeSpace(directory: string, neededBytes: number): Promise<void> {
  const { bavail, bsize } = await onDisk(directory, () => statfs(directory))
  const freeBytes = bavail * bsize
  if (freeBytes >= neededBytes) return
  throw new DirectoryFailure(
    `There is not enough space in ${directory}: ${megabytes(neededBytes)} are needed and ${megabytes(freeBytes)} ` +
      'are free. Free some, or choose another directory with MODEL_DIR.',
  )
}

/** Writes the chunks to each file, from its offset on. */
export async function writeAt(
  directory: string,
  places: { path: string; offset: number }[],
  chunks: AsyncIterable<Buffer>,
): Promise<void> {
  const files = await onDisk(directory, () =>
    Promise.all(places.map(({ path }) => open(path, constants.O_RDWR | constants.O_CREAT, 0o644))),
  )
  let written = 0
  try {
    for await (const chunk of chunks) {
      for (const [index, file] of files.entries()) {
        const position = places[index]!.offset + written
        await onDisk(directory, () => file.write(chunk, 0, chunk.length, position))
      }
      written += chunk.length
    }
    for (const file of files) await onDisk(directory, () => file.sync())
  } finally {
    for (const file of files) await file.close()
  }
}

/** Moves a file to its target if its hash matches. Otherwise deletes it and returns its actual hash. */
export async function putInPlace(
  directory: string,
  file: { path: string; sha256: string; target: string },
  signal: AbortSignal,
): Promise<string | undefined> {
  const found = await hashFile(file.path, signal)
  if (found !== file.sha256) {
    await rm(file.path, { force: true })
    return found
  }
  await onDisk(directory, async () => {
    await mkdir(dirname(file.target), { recursive: true })
    await rename(file.path, file.target)
  })
  return undefined
}
