/** The migration from one store to another, in both directions, while objects are read and deleted. */
import { randomBytes } from 'node:crypto'
import { mkdtempDisposable, readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { migrateMedia, type MediaMigration } from '../../src/media-maintenance/migrate-media.ts'
import { uuidV7 } from '../../src/platform/ids/uuid.ts'
import { createFallbackMediaStore } from '../../src/storage/fallback-media-store.ts'
import { createStores } from '../../src/storage/open-storage.ts'
import type { MediaStore } from '../../src/storage/port/media-store.ts'
import { parseBucketUrl } from '../../src/storage/s3/bucket-url.ts'
import { insertStoredFiles } from '../../src/storage/stored-file-store.ts'
import { createBucket, useCredentials } from '../kit/buckets.ts'
import { createDatabase, type TestDatabase } from '../kit/database.ts'
import { daysAgo, recordingAt } from '../kit/expired.ts'
import { createAccount, createKey } from '../kit/factories.ts'

let database: TestDatabase

beforeAll(useCredentials)
beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database[Symbol.asyncDispose]())

interface Case extends AsyncDisposable {
  source: MediaStore
  target: MediaStore
  directory: string
  /** The settings of the roles after the switch: the target is the current store. */
  migrated: MediaStore
  /** Stores objects with rows in the source, and returns their bytes by key. */
  fill: (count: number, expiresAt?: Date) => Promise<Map<string, Buffer>>
  migrate: (options?: {
    signal?: AbortSignal
    onProgress?: (migration: MediaMigration) => void
    source?: MediaStore
    target?: MediaStore
  }) => Promise<MediaMigration>
}

const read = async (store: MediaStore, key: string) => Buffer.concat(await (await store.open(key)).toArray())

const open = async (direction: 'disk to S3' | 'S3 to disk' | 'disk to disk'): Promise<Case> => {
  const place = await mkdtempDisposable(join(tmpdir(), 'kinora-migrate-'))
  const directory = join(place.path, 'media')
  const inBucket = async () => parseBucketUrl((await createBucket()).url)
  const stores = await createStores({
    MEDIA_DIRECTORY: directory,
    ...(direction === 'disk to S3' && {
      MEDIA_STORE: await inBucket(),
      MEDIA_STORE_ALSO_READ: directory,
    }),
    ...(direction === 'S3 to disk' && { MEDIA_STORE_ALSO_READ: await inBucket() }),
    ...(direction === 'disk to disk' && { MEDIA_STORE_ALSO_READ: join(place.path, 'previous') }),
  })
  const { current: target, other: source = target } = stores
  const { postgres } = database
  await postgres.query('delete from media')
  await postgres.query('update transcription_tasks set recording_key = null')
  const accountId = await createAccount(postgres)
  const fill: Case['fill'] = async (count, expiresAt = daysAgo(-1)) => {
    const files = new Map<string, Buffer>()
    for (let index = 0; index < count; index += 1) {
      const id = uuidV7()
      const storageKey = `videos/2026-01-01/${id}.mp4`
      const bytes = randomBytes(1_000 + index)
      const stored = await source.put(storageKey, Readable.from([bytes]), { sizeBytesMax: 10_000 })
      files.set(storageKey, bytes)
      await insertStoredFiles(postgres, [
        {
          ...{ id, accountId, taskId: `task of ${id}`, kind: 'video', storageKey, ...stored, expiresAt },
          ...{ contentType: 'video/mp4', width: 1, height: 1, durationMs: 1 },
        },
      ])
    }
    return files
  }
  return {
    ...{ source, target, directory, fill, migrated: createFallbackMediaStore(target, source) },
    migrate: ({ signal = new AbortController().signal, onProgress = () => undefined, ...places } = {}) =>
      migrateMedia(postgres, { source, target, ...places }, { signal, onProgress }),
    [Symbol.asyncDispose]: () => place.remove(),
  }
}

const nothing = { missing: [], damaged: [] }

describe.each(['disk to S3', 'S3 to disk'] as const)('%s', (direction) => {
  test('copies every object with its time of writing, and leaves the source as it is', async () => {
    await using stores = await open(direction)
    const files = await stores.fill(20)
    const accountId = await createAccount(database.postgres)
    const { id: keyId } = await createKey(database.postgres, accountId)
    const { recordingKey } = await recordingAt(database.postgres, { accountId, keyId }, new Date())
    const unrecorded = ['voices/0a1b', recordingKey]
    for (const key of unrecorded)
      await stores.source.put(key, Readable.from([Buffer.from(key)]), { sizeBytesMax: 1_000 })
    const written = new Map<string, unknown>()
    for (const key of files.keys()) written.set(key, (await stores.source.find(key))?.writtenAt)

    expect(await stores.migrate()).toMatchObject({ checked: 22, copied: 22, ...nothing })
    for (const [key, bytes] of files) {
      expect(await read(stores.target, key)).toEqual(bytes)
      expect((await stores.target.find(key))?.writtenAt).toEqual(written.get(key))
      expect(await read(stores.source, key)).toEqual(bytes)
    }
    for (const key of unrecorded) expect((await read(stores.target, key)).toString()).toBe(key)
    expect(await readdir(join(stores.directory, 'spool')).catch(() => [])).toEqual([])
    expect(await stores.migrate()).toMatchObject({ checked: 22, copied: 0, ...nothing })
  })

  test('continues after an interruption, and copies no object twice', async () => {
    await using stores = await open(direction)
    const files = await stores.fill(30)
    const puts: string[] = []
    const target: MediaStore = {
      ...stores.target,
      putFile: async (key, path, options) => {
        await stores.target.putFile(key, path, options)
        puts.push(key)
      },
    }
    for (const stopAt of [1, 5, 13]) {
      const stop = new AbortController()
      const running = stores.migrate({
        target,
        signal: stop.signal,
        onProgress: ({ checked }) => checked === stopAt && stop.abort(new Error('stopped')),
      })
      await expect(running).rejects.toThrow('stopped')
    }
    expect(puts.length).toBeLessThan(files.size)
    const { copied } = await stores.migrate({ target })
    // The server may have received the rest of a put that was interrupted.
    expect(copied).toBeLessThanOrEqual(files.size - 5)
    expect(new Set(puts).size).toBe(puts.length)
    for (const [key, bytes] of files) expect(await read(stores.target, key)).toEqual(bytes)
  })

  test('reports damaged and missing objects, copies neither, and ignores expired ones', async () => {
    await using stores = await open(direction)
    const [damaged = '', missing = '', intact = ''] = (await stores.fill(3)).keys()
    const [expired = ''] = (await stores.fill(1, daysAgo(1))).keys()
    await stores.source.put(damaged, Readable.from([randomBytes(1_000)]), { sizeBytesMax: 1_000 })
    await stores.source.removeMany([missing, expired])
    expect(await stores.migrate()).toMatchObject({ copied: 1, damaged: [damaged], missing: [missing] })
    expect(await stores.target.find(damaged)).toBeUndefined()
    expect(await stores.target.find(intact)).toBeDefined()
  })

  test('copies what a process with the previous settings writes meanwhile', async () => {
    await using stores = await open(direction)
    await stores.fill(3)
    let late: Promise<Map<string, Buffer>> | undefined
    const source: MediaStore = {
      ...stores.source,
      // Voices are the last that a pass copies.
      list: async function* (folder) {
        late ??= stores.fill(2)
        await late
        yield* stores.source.list(folder)
      },
    }
    expect(await stores.migrate({ source })).toMatchObject({ checked: 5, copied: 5, ...nothing })
    for (const key of (await late)?.keys() ?? []) expect(await stores.target.find(key)).toBeDefined()
  })

  test('a delete while an object is copied leaves it in neither store', async () => {
    await using stores = await open(direction)
    const [deleted = '', kept = ''] = (await stores.fill(2)).keys()
    const target: MediaStore = {
      ...stores.target,
      putFile: async (key, path, options) => {
        await stores.target.putFile(key, path, options)
        // Both removals end before the copy appears.
        if (key === deleted) {
          const bytes = await read(stores.target, key)
          await stores.migrated.remove(key)
          await stores.target.put(key, Readable.from([bytes]), { sizeBytesMax: 10_000 })
        }
      },
    }
    await stores.migrate({ target })
    expect(await stores.target.find(deleted)).toBeUndefined()
    expect(await stores.source.find(deleted)).toBeUndefined()
    expect(await stores.target.find(kept)).toBeDefined()
  })
})

test.each(['before', 'after'].flatMap((settings) => [0, 1, 2].map((step) => [settings, step] as const)))(
  'a delete by a process with the settings %s the switch leaves nothing if objects are copied before its step %i',
  async (settings, step) => {
    await using stores = await open('disk to disk')
    const [key = ''] = (await stores.fill(1)).keys()
    let steps = 0
    const copying = (store: MediaStore): MediaStore => ({
      ...store,
      remove: async (removed) => {
        if (steps === step) await stores.migrate()
        steps += 1
        await store.remove(removed)
      },
    })
    const [source, target] = [copying(stores.source), copying(stores.target)]
    const used =
      settings === 'after'
        ? createFallbackMediaStore(target, source)
        : createFallbackMediaStore(source, target)
    await used.remove(key)
    expect(steps).toBe(3)
    expect(await stores.source.find(key)).toBeUndefined()
    expect(await stores.target.find(key)).toBeUndefined()
  },
)

test('during a migration, an object is read, listed and deleted in whichever store it is', async () => {
  await using stores = await open('disk to S3')
  const [key = '', onlyOld = ''] = (await stores.fill(2)).keys()
  const { migrated } = stores
  await stores.target.put('videos/new', Readable.from([Buffer.from('new')]), { sizeBytesMax: 10 })
  const options = { contentType: 'video/mp4', disposition: 'inline', expiresInSeconds: 60 }
  // A directory has no such URLs, and the API sends the file.
  expect(await migrated.presign?.(key, options)).toBeUndefined()
  expect(await migrated.presign?.('videos/new', options)).toContain('X-Amz-Signature')
  const path = join(stores.directory, 'copy')
  await migrated.copyTo(onlyOld, path)
  expect(await migrated.withLocalPath('videos/new', async () => 'local')).toBe('local')
  expect(await migrated.withLocalPath(onlyOld, async () => 'local')).toBe('local')
  const listed: string[] = []
  for await (const each of migrated.list('videos')) listed.push(each.key)
  expect(listed.toSorted()).toEqual([key, onlyOld, 'videos/new'].toSorted())
  await migrated.removeMany([key, 'videos/new'])
  expect(await migrated.find(key)).toBeUndefined()
  expect(await migrated.find('videos/new')).toBeUndefined()
  expect(await migrated.find(onlyOld)).toBeDefined()
})
