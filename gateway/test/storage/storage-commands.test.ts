/** What `kinora storage orphans` and `usage` do with media in a bucket. */
import { mkdir, mkdtempDisposable, readdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'

import { afterEach, beforeAll, expect, test, vi } from 'vitest'

import { compareStores, measureStores, migrateToCurrent } from '../../src/storage-commands.ts'
import { createStores } from '../../src/storage/open-storage.ts'
import { parseBucketUrl } from '../../src/storage/s3/bucket-url.ts'
import { createBucket, useCredentials } from '../kit/buckets.ts'
import { createDatabase } from '../kit/database.ts'
import { acceptedAt, daysAgo } from '../kit/expired.ts'
import { completeTask, createAccount, createKey } from '../kit/factories.ts'

beforeAll(useCredentials)
afterEach(() => vi.useRealTimers())

const quiet = { signal: new AbortController().signal, onProgress: () => undefined }

/** A service during a migration, with results in the directory. */
const openService = async (results: number) => {
  const place = await mkdtempDisposable(join(tmpdir(), 'kinora-commands-'))
  const database = await createDatabase()
  const { postgres } = database
  const MEDIA_DIRECTORY = join(place.path, 'media')
  const settings = {
    MEDIA_DIRECTORY,
    MEDIA_STORE: parseBucketUrl((await createBucket()).url),
    MEDIA_STORE_ALSO_READ: MEDIA_DIRECTORY,
  }
  const accountId = await createAccount(postgres)
  const { id: keyId } = await createKey(postgres, accountId)
  const { current, other } = await createStores(settings)
  const keys: string[] = []
  for (let index = 0; index < results; index += 1) {
    const { id } = await acceptedAt(postgres, { accountId, keyId }, new Date())
    const { storageKey } = await completeTask({ database, mediaStore: other ?? current }, accountId, id)
    keys.push(storageKey)
  }
  return {
    ...{ keys, postgres, current, other: other ?? current },
    config: { ...settings, DATABASE_URL: database.url, LOG_LEVEL: 'silent' as const },
    [Symbol.asyncDispose]: async () => {
      await database[Symbol.asyncDispose]()
      await place.remove()
    },
  }
}

const one = () => Readable.from([Buffer.from('x')])

test('orphans are found in both directions and in both stores, and only objects without a row are deleted', async () => {
  await using service = await openService(4)
  const { config, keys, current, other } = service
  const [lost = ''] = keys
  await other.remove(lost)
  const orphans = ['variants/in-both.jpg', 'videos/in-the-bucket.mp4', 'videos/in-the-directory.mp4']
  for (const key of orphans.slice(0, 2)) await current.put(key, one(), { sizeBytesMax: 1 })
  for (const key of [orphans[0] ?? '', orphans[2] ?? '']) await other.put(key, one(), { sizeBytesMax: 1 })
  // Not media: samples of voices have no row.
  await current.put('voices/0a1b', one(), { sizeBytesMax: 1 })

  const find = (minAgeMs: number, isDeleting = false) =>
    compareStores(config, { minAgeMs, isDeleting }, quiet)
  // Their rows may follow.
  expect(await find(3_600_000, true)).toMatchObject({
    orphans: [],
    young: 7,
    known: 0,
    deleted: 0,
    missing: [lost],
  })
  const found = await find(0)
  expect(found).toMatchObject({ known: 3, isForeign: false, missing: [lost], deleted: 0 })
  expect(found.orphans.toSorted()).toEqual(orphans)
  expect(await current.find('videos/in-the-bucket.mp4')).toBeDefined()
  expect(await find(0, true)).toMatchObject({ deleted: 3, missing: [lost] })
  expect(await find(0)).toMatchObject({ orphans: [], known: 3, missing: [lost] })
  expect(await current.find('voices/0a1b')).toBeDefined()
  // A row that nobody needs any more has lost nothing.
  await service.postgres.query('update media set expires_at = $2 where storage_key = $1', [lost, daysAgo(1)])
  expect(await find(0)).toMatchObject({ missing: [] })
})

test('nothing is deleted in a store of another database', async () => {
  await using service = await openService(1)
  const { config, current } = service
  const strangers = Array.from({ length: 101 }, (_, index) => `references/${index}`)
  await Promise.all(strangers.map((key) => current.put(key, one(), { sizeBytesMax: 1 })))
  const result = await compareStores(config, { minAgeMs: 0, isDeleting: true }, quiet)
  expect(result).toMatchObject({ isForeign: true, known: 1, deleted: 0 })
  expect(await current.find('references/7')).toBeDefined()
})

test('usage shows both stores during a migration, and the migration needs both', async () => {
  await using service = await openService(2)
  const { config } = service
  const videos = async () =>
    (await measureStores(config, quiet)).folders.find(({ folder }) => folder === 'videos')
  const both = { objects: 2, sizeBytes: 2_000 }
  expect(await videos()).toEqual({
    ...{ folder: 'videos', recorded: both, otherListed: both },
    listed: { objects: 0, sizeBytes: 0 },
  })
  const { migration, audit } = await migrateToCurrent(config, { isAudited: true }, quiet)
  expect(migration).toMatchObject({ copied: 2, missing: [], damaged: [] })
  expect(audit).toMatchObject({ files: 2, missing: [], damaged: [] })
  expect(await videos()).toMatchObject({ listed: both, otherListed: both })
  const alone = { ...config, MEDIA_STORE_ALSO_READ: undefined }
  await expect(migrateToCurrent(alone, { isAudited: false }, quiet)).rejects.toThrow(
    'MEDIA_STORE_ALSO_READ is not set',
  )
})

test('a command removes the copies that a killed migration left on its machine', async () => {
  await using service = await openService(1)
  // Requests to S3 have the time of the clock.
  const config = { ...service.config, MEDIA_STORE: undefined, MEDIA_STORE_ALSO_READ: undefined }
  const spool = join(config.MEDIA_DIRECTORY, 'spool')
  await mkdir(spool, { recursive: true })
  await writeFile(join(spool, 'of-a-killed-process'), 'x')
  vi.useFakeTimers({ now: Date.now() + 3_600_000, toFake: ['Date'] })
  await measureStores(config, quiet)
  await expect.poll(() => readdir(spool)).toEqual([])
})
