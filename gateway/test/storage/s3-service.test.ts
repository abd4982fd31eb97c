/** The API, backups and retention with media in a bucket. */
import { mkdtempDisposable, readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { beforeAll, expect, test } from 'vitest'

import { auditMedia } from '../../src/backup/audit-media.ts'
import { restoreBackup } from '../../src/backup/restore-backup.ts'
import { takeBackup } from '../../src/backup/take-backup.ts'
import { Secret } from '../../src/platform/secret.ts'
import { findOrphans } from '../../src/retention/orphans.ts'
import { openStorage } from '../../src/storage/open-storage.ts'
import { parseBucketUrl } from '../../src/storage/s3/bucket-url.ts'
import { ask, askJson } from '../kit/answers.ts'
import { createBucket, useCredentials } from '../kit/buckets.ts'
import { createEmptyDatabase } from '../kit/database.ts'
import { completeTask, createAccount, createKey } from '../kit/factories.ts'
import { startGateway } from '../kit/start-gateway.ts'

beforeAll(useCredentials)

const startWithBucket = async (settings: Record<string, string> = {}) => {
  const { url: bucketUrl } = await createBucket()
  const gateway = await startGateway({ MEDIA_STORE: bucketUrl, ...settings })
  const { postgres } = gateway.database
  const { mediaStore } = await openStorage({
    MEDIA_DIRECTORY: join(gateway.directory, 'media'),
    MEDIA_STORE: parseBucketUrl(bucketUrl),
  })
  const accountId = await createAccount(postgres)
  const key = await createKey(postgres, accountId)
  /** Completes a task with its video in the bucket. */
  const complete = async () => {
    const order = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480' }
    const { body: created } = await askJson(`${gateway.url}/v1/videos`, key.text, order)
    const id = String(created['id'])
    const { mediaId, bytes } = await completeTask(gateway, accountId, id)
    const storageKey = `videos/test/${mediaId}.mp4`
    await mediaStore.adopt(storageKey, join(gateway.directory, 'media', storageKey))
    const { body } = await ask(`${gateway.url}/v1/videos/${id}`, key.text)
    const { pathname, search } = new URL(String(body['video_url']))
    return { id, bytes, storageKey, link: `${gateway.url}${pathname}${search}` }
  }
  return { gateway, mediaStore, key, complete, [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose]() }
}

test('a result in a bucket is sent through the API, whole or in part, until it is deleted', async () => {
  await using service = await startWithBucket()
  const { id, bytes, link, storageKey } = await service.complete()
  const whole = await fetch(link, { redirect: 'error' })
  expect(whole.status).toBe(200)
  expect(Buffer.from(await whole.arrayBuffer())).toEqual(bytes)
  const part = await fetch(link, { headers: { range: 'bytes=10-19' } })
  expect(part.status).toBe(206)
  expect(Buffer.from(await part.arrayBuffer())).toEqual(bytes.subarray(10, 20))
  const { gateway, key } = service
  await ask(`${gateway.url}/v1/videos/${id}`, key.text, { method: 'DELETE' })
  expect(await service.mediaStore.find(storageKey)).toBeUndefined()
})

test('a result that is missing in the bucket has expired', async () => {
  await using service = await startWithBucket()
  const { link, storageKey } = await service.complete()
  await service.mediaStore.remove(storageKey)
  expect((await fetch(link)).status).toBe(410)
})

test('if the operator allows it, a link redirects to a URL that is valid for a short time and has the same headers', async () => {
  await using service = await startWithBucket({ MEDIA_REDIRECT_SECONDS: '60' })
  const { bytes, link } = await service.complete()
  const redirect = await fetch(link, { redirect: 'manual' })
  expect(redirect.status).toBe(302)
  expect(redirect.headers.get('cache-control')).toBe('no-store')
  const location = redirect.headers.get('location') ?? ''
  expect(new URL(location).searchParams.get('X-Amz-Expires')).toBe('60')
  const response = await fetch(location)
  expect(Buffer.from(await response.arrayBuffer())).toEqual(bytes)
  expect(response.headers.get('content-type')).toBe('video/mp4')
  expect(response.headers.get('content-disposition')).toBe('inline')
  // Not valid for other methods, and a cached file needs no URL.
  expect((await fetch(link, { method: 'HEAD', redirect: 'error' })).status).toBe(200)
  const { rows } = await service.gateway.database.postgres.query<{ found: number }>(
    `select count(*)::integer as found from media where media::text like '%X-Amz%'`,
  )
  expect(rows).toEqual([{ found: 0 }])
})

test('a backup of a bucket is restored into another bucket', async () => {
  await using service = await startWithBucket()
  await using directory = await mkdtempDisposable(join(tmpdir(), 'kinora-s3-backup-'))
  await using target = await createEmptyDatabase()
  const { storageKey, bytes } = await service.complete()
  const { mediaStore, gateway } = service
  const secret = [new Secret('a secret of a test')]
  const common = {
    environment: { PATH: process.env['PATH'] },
    signal: new AbortController().signal,
    onProgress: () => undefined,
  }
  const secrets = {
    ...{ KEY_HASH_SECRETS: secret, LINK_SECRETS: secret },
    ...{ CREDENTIAL_SECRETS: secret, AUDIT_SECRETS: secret },
  }
  const backUp = (into: string) =>
    takeBackup(
      {
        ...common,
        secrets,
        mediaStore,
        postgres: gateway.database.postgres,
        databaseUrl: gateway.database.url,
      },
      join(directory.path, into),
      '0.0.0',
    )
  const { path, manifest } = await backUp('backups')
  expect(manifest.media).toEqual({ files: 1, size_bytes: bytes.length, missing: [] })

  const { url } = await createBucket()
  const other = await openStorage({ MEDIA_DIRECTORY: directory.path, MEDIA_STORE: parseBucketUrl(url) })
  const restore = {
    ...common,
    mediaStore: other.mediaStore,
    postgres: target.postgres,
    databaseUrl: target.url,
  }
  await restoreBackup(restore, path)
  const original = await mediaStore.find(storageKey)
  expect(await other.mediaStore.find(storageKey)).toEqual(original)
  const audit = await auditMedia(target.postgres, other.mediaStore, common)
  expect(audit).toEqual({ files: 1, sizeBytes: bytes.length, missing: [], damaged: [], expired: 0 })
  expect(
    await findOrphans({ postgres: target.postgres, mediaStore: other.mediaStore }, common.signal),
  ).toEqual({
    keys: [],
    known: 0,
  })
  expect(await readdir(other.spool.directory)).toEqual([])
})
