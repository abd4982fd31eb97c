/**
 * Copies media to another store while the service uses both. An object appears in the target only after its content was
 * verified, so a repeated run skips what it finds there. Nothing is removed from the source.
 */
import { createReadStream } from 'node:fs'
import { stat, utimes } from 'node:fs/promises'

import pLimit from 'p-limit'

import { referencedFiles, type ReferencedFile } from '../backup/backup-store.ts'
import { hashStream } from '../backup/hash-stream.ts'
import type { Database } from '../platform/postgres.ts'
import { MediaNotFound, type MediaStore } from '../storage/port/media-store.ts'
import { keysNeeded } from './find-missing.ts'

const objectsAtOnce = 8
/** The folders without rows: samples that would be recorded again, and the erasure list. */
const foldersWithoutRows = ['voices', 'erasures']

export interface MediaMigration {
  /** Objects that this run has compared with the target. */
  checked: number
  copied: number
  copiedBytes: number
  /** Keys of objects that no store has, although the database needs them. */
  missing: string[]
  /** Keys of objects with another size or hash than recorded. They are not copied. */
  damaged: string[]
}

type Outcome = 'present' | 'copied' | 'damaged' | 'missing'

interface Places {
  source: MediaStore
  target: MediaStore
}

/** Copies one object. The source is read once more if the database has no hash of it. */
const copyObject = async (
  { storageKey: key, sizeBytes, sha256 }: ReferencedFile,
  { source, target }: Places,
  signal: AbortSignal,
): Promise<{ outcome: Outcome; sizeBytes: number }> => {
  const present = await target.find(key, { signal })
  if (present !== undefined && (sizeBytes === null || sizeBytes === present.sizeBytes))
    return { outcome: 'present', sizeBytes: 0 }
  const original = await source.find(key, { signal })
  if (original === undefined) return { outcome: present === undefined ? 'missing' : 'damaged', sizeBytes: 0 }

  const expected = sha256 ?? (await hashStream(await source.open(key, { signal })))
  const outcome = await source.withLocalPath(
    key,
    async (path): Promise<Outcome> => {
      if ((await hashStream(createReadStream(path))) !== expected) return 'damaged'
      // The file of a download has the time of the download, and backups recognize an object by its own.
      if ((await stat(path)).mtime.getTime() !== original.writtenAt.getTime())
        await utimes(path, original.writtenAt, original.writtenAt)
      await target.putFile(key, path, { signal })
      return 'copied'
    },
    { signal },
  )
  // It was deleted in both stores while it was copied.
  if (outcome === 'copied' && (await source.find(key)) === undefined) {
    await target.remove(key)
    return { outcome: 'missing', sizeBytes: 0 }
  }
  return { outcome, sizeBytes: original.sizeBytes }
}

async function* objectsToCopy(database: Database, source: MediaStore): AsyncGenerator<ReferencedFile[]> {
  yield* referencedFiles(database)
  for (const folder of foldersWithoutRows) {
    for await (const { key } of source.list(folder))
      yield [{ storageKey: key, sizeBytes: null, sha256: null, isExpired: false }]
  }
}

interface Options {
  signal: AbortSignal
  onProgress: (migration: MediaMigration) => void
}

const runPass = async (
  database: Database,
  places: Places,
  { signal, onProgress }: Options,
): Promise<MediaMigration> => {
  const limited = pLimit(objectsAtOnce)
  const pass: MediaMigration = { checked: 0, copied: 0, copiedBytes: 0, missing: [], damaged: [] }
  const failed = new AbortController()
  const stop = AbortSignal.any([signal, failed.signal])
  const add = async (file: ReferencedFile) => {
    if (stop.aborted) return
    const { outcome, sizeBytes } = await copyObject(file, places, stop).catch((error: unknown) => {
      if (error instanceof MediaNotFound) return { outcome: 'missing', sizeBytes: 0 } as const
      throw error
    })
    pass.checked += 1
    if (outcome === 'copied') {
      pass.copied += 1
      pass.copiedBytes += sizeBytes
    } else if (outcome !== 'present') pass[outcome].push(file.storageKey)
    onProgress(pass)
  }
  for await (const page of objectsToCopy(database, places.source)) {
    // Two rows may refer to one object, which must not be copied twice at once.
    const files = new Map(page.map((file) => [file.storageKey, file]))
    const stopAll = (error: unknown) => failed.abort(error)
    await Promise.all([...files.values()].map((file) => limited(() => add(file).catch(stopAll))))
    stop.throwIfAborted()
  }
  // What was deleted since it was listed is not missing.
  return { ...pass, missing: await keysNeeded(database, pass.missing) }
}

/** Repeats passes until one finds nothing to copy: a process with the previous settings may still write to the source. */
export const migrateMedia = async (
  database: Database,
  places: Places,
  { signal, onProgress }: Options,
): Promise<MediaMigration> => {
  const total = { copied: 0, copiedBytes: 0 }
  for (;;) {
    const add = (pass: MediaMigration): MediaMigration => ({
      ...pass,
      copied: total.copied + pass.copied,
      copiedBytes: total.copiedBytes + pass.copiedBytes,
    })
    const pass = await runPass(database, places, { signal, onProgress: (each) => onProgress(add(each)) })
    const migration = add(pass)
    if (pass.copied === 0) return migration
    Object.assign(total, { copied: migration.copied, copiedBytes: migration.copiedBytes })
  }
}
