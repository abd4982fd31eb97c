/** The API, backups and retention with media in a bucket. */
import { execFile } from 'node:child_process'
import { mkdtempDisposable, readdir, readFile } from 'node:fs/promises'
import { createServer, request as forward, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import OpenAI from 'openai'
import { beforeAll, expect, inject, test } from 'vitest'

import { auditMedia } from '../../src/backup/audit-media.ts'
import { restoreBackup } from '../../src/backup/restore-backup.ts'
import { takeBackup } from '../../src/backup/take-backup.ts'
import { createErasureList } from '../../src/erasure/erasure-list.ts'
import { workOnErasures } from '../../src/erasure/work-on-erasures.ts'
import { createLog } from '../../src/platform/log.ts'
import { Secret } from '../../src/platform/secret.ts'
import { findOrphans } from '../../src/retention/orphans.ts'
import { openStorage } from '../../src/storage/open-storage.ts'
import { removeDueFiles } from '../../src/storage/removal/remove-files.ts'
import { parseBucketUrl } from '../../src/storage/s3/bucket-url.ts'
import { ask, askJson } from '../kit/answers.ts'
import { createBucket, useCredentials } from '../kit/buckets.ts'
import { createEmptyDatabase } from '../kit/database.ts'
import { acceptedAt } from '../kit/expired.ts'
import { auditSecret, completeTask, createAccount, createKey } from '../kit/factories.ts'
import { createOperator } from '../kit/operator.ts'
import { startGateway, startProxy, testEnvironment } from '../kit/start-gateway.ts'
import { listKeys } from '../kit/stored-media.ts'

beforeAll(useCredentials)

const sample = new URL('../../../dev/vendor/sample.mp4', import.meta.url)

const startWithBucket = async (settings: Record<string, string> = {}, existing?: string) => {
  const bucketUrl = existing ?? (await createBucket()).url
  const gateway = await startGateway({ MEDIA_STORE: bucketUrl, ...settings })
  const { mediaStore } = gateway
  const { postgres } = gateway.database
  const accountId = await createAccount(postgres)
  const key = await createKey(postgres, accountId)
  /** Completes a task with its video in the bucket. */
  const complete = async (film?: Buffer) => {
    const order = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480' }
    const { body: created } = await askJson(`${gateway.url}/v1/videos`, key.text, order)
    const id = String(created['id'])
    const { storageKey, bytes } = await completeTask(gateway, accountId, id, film && { bytes: film })
    const { body } = await ask(`${gateway.url}/v1/videos/${id}`, key.text)
    const { pathname, search } = new URL(String(body['video_url']))
    return { id, bytes, storageKey, link: `${gateway.url}${pathname}${search}` }
  }
  return {
    gateway,
    mediaStore,
    accountId,
    key,
    complete,
    [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
  }
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
  // S3 cannot send the header that keeps a browser from taking it for a document.
  await service.gateway.database.postgres.query(`update media set content_type = 'text/html'`)
  const proxied = await fetch(link, { redirect: 'manual' })
  expect(proxied.status).toBe(200)
  expect(proxied.headers.get('x-content-type-options')).toBe('nosniff')
  const { rows } = await service.gateway.database.postgres.query<{ found: number }>(
    `select count(*)::integer as found from media where media::text like '%X-Amz%'`,
  )
  expect(rows).toEqual([{ found: 0 }])
})

test('the content of a video and its variants redirect too, with their file name, and JSON does not', async () => {
  await using service = await startWithBucket({ MEDIA_REDIRECT_SECONDS: '60' })
  const { id, bytes } = await service.complete(await readFile(sample))
  const read = (query: string, accept: string, method = 'GET') =>
    fetch(`${service.gateway.url}/v1/videos/${id}/content${query}`, {
      ...{ method, redirect: 'manual' },
      headers: { authorization: `Bearer ${service.key.text}`, accept },
    })
  for (const [query, accept, contentType] of [
    ['', 'video/mp4', 'video/mp4'],
    ['?variant=video', '*/*', 'video/mp4'],
    ['?variant=thumbnail', '*/*', 'image/jpeg'],
  ] as const) {
    const redirect = await read(query, accept)
    expect({ query, status: redirect.status }).toEqual({ query, status: 302 })
    expect(redirect.headers.get('vary')).toContain('Accept')
    // A client does not send its key to another host.
    const response = await fetch(redirect.headers.get('location') ?? '')
    expect(response.headers.get('content-type')).toBe(contentType)
    expect(response.headers.get('content-disposition')).toMatch(/^attachment; filename="[\w.-]+"$/)
    const sent = Buffer.from(await response.arrayBuffer())
    if (contentType === 'video/mp4') expect(sent).toEqual(bytes)
  }
  expect((await read('', 'video/mp4', 'HEAD')).status).toBe(200)
  expect((await read('', 'application/json')).status).toBe(200)
})

test('the client of OpenAI follows the redirect, and does not send its key to the bucket', async () => {
  const { url: bucketUrl } = await createBucket()
  const sent: IncomingHttpHeaders[] = []
  const { hostname: host, port } = new URL(inject('objectStore').endpoint)
  const bucket = createServer((request, response) => {
    sent.push(request.headers)
    const { method, url: path, headers } = request
    const passed = forward({ host, port, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    request.pipe(passed)
  })
  await new Promise<void>((resolve) => {
    bucket.listen(0, '127.0.0.1', () => resolve())
  })
  try {
    const endpoint = `http://127.0.0.1:${(bucket.address() as AddressInfo).port}`
    await using service = await startWithBucket(
      { MEDIA_REDIRECT_SECONDS: '60' },
      bucketUrl.replace(/endpoint=[^&]*/, `endpoint=${encodeURIComponent(endpoint)}`),
    )
    const { id, bytes } = await service.complete()
    sent.length = 0
    const client = new OpenAI({ apiKey: service.key.text, baseURL: `${service.gateway.url}/v1` })
    const content = await client.videos.downloadContent(id)
    expect(Buffer.from(await content.arrayBuffer())).toEqual(bytes)
    expect(new URL(content.url).origin).toBe(endpoint)
    expect(sent).toHaveLength(1)
    expect(sent[0]?.authorization).toBeUndefined()
  } finally {
    bucket.closeAllConnections()
    bucket.close()
  }
})

test('while the bucket cannot be reached, a result is 503, a create works, and readiness names the bucket', async () => {
  const { url: bucketUrl, name } = await createBucket()
  await using proxy = await startProxy(inject('objectStore').endpoint)
  await using service = await startWithBucket(
    {},
    bucketUrl.replace(/endpoint=[^&]*/, `endpoint=${encodeURIComponent(proxy.url)}`),
  )
  const { gateway, key } = service
  const { link, bytes } = await service.complete()
  const ready = async () => (await ask(`${gateway.url}/readyz`, undefined)).body
  expect(await ready()).not.toHaveProperty('warnings')
  await proxy.cut()
  const { status, body } = await ask(link, undefined)
  expect(status).toBe(503)
  expect(body).toMatchObject({
    error: {
      code: 'service_unavailable',
      message: 'The media storage is unavailable at the moment. Try again later.',
    },
  })
  const order = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480' }
  expect((await askJson(`${gateway.url}/v1/videos`, key.text, order)).status).toBe(200)
  expect(await ready()).toMatchObject({
    status: 'ok',
    warnings: [expect.stringMatching(`^the bucket ${name} \\(MEDIA_STORE\\) cannot be used: ECONNREFUSED`)],
  })
  await proxy.mend()
  expect(Buffer.from(await (await fetch(link)).arrayBuffer())).toEqual(bytes)
  expect(await ready()).not.toHaveProperty('warnings')
})

test('the erasure of an account removes its objects from the bucket, also if that was down, and no others', async () => {
  const { url: bucketUrl } = await createBucket()
  await using proxy = await startProxy(inject('objectStore').endpoint)
  await using service = await startWithBucket(
    {},
    bucketUrl.replace(/endpoint=[^&]*/, `endpoint=${encodeURIComponent(proxy.url)}`),
  )
  const { gateway, mediaStore, accountId } = service
  const { postgres } = gateway.database
  const erased = [(await service.complete()).storageKey, (await service.complete()).storageKey]
  const otherId = await createAccount(postgres)
  const owner = { accountId: otherId, keyId: (await createKey(postgres, otherId)).id }
  const { id } = await acceptedAt(postgres, owner, new Date())
  const { storageKey: kept } = await completeTask(gateway, otherId, id)

  await (await createOperator(gateway)).call('eraseAccount', { id: accountId })
  // The list is in the bucket too.
  expect(await createErasureList(gateway.erasureStore).accountIds()).toEqual([accountId])
  const { signal } = new AbortController()
  const dependencies = { postgres, mediaStore, log: createLog({ level: 'silent' }, 'test') }
  await proxy.cut()
  await workOnErasures({ ...dependencies, auditSecrets: [new Secret(auditSecret)] }, signal)
  expect((await postgres.query('select from media where account_id = $1', [accountId])).rows).toEqual([])
  await proxy.mend()
  expect(await listKeys(mediaStore)).toEqual([...erased, kept].toSorted())
  await postgres.query('update file_removals set next_try_at = now()')
  expect(await removeDueFiles(dependencies, signal)).toBe(erased.length)
  expect(await listKeys(mediaStore)).toEqual([kept])
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
    young: 1,
    isWhole: true,
  })
  expect(await readdir(other.spool.directory)).toEqual([])
})

test('the commands back up a bucket and restore it into another one, and the audits of ledger and media are clean', async () => {
  const source = await createBucket()
  const target = await createBucket()
  await using service = await startWithBucket({}, source.url)
  await using directory = await mkdtempDisposable(join(tmpdir(), 'kinora-s3-commands-'))
  await using database = await createEmptyDatabase()
  const { bytes } = await service.complete()
  const kinora = async (parameters: string[], databaseUrl: string, bucketUrl: string) => {
    const env = {
      PATH: process.env['PATH'],
      AWS_ACCESS_KEY_ID: process.env['AWS_ACCESS_KEY_ID'],
      AWS_SECRET_ACCESS_KEY: process.env['AWS_SECRET_ACCESS_KEY'],
      ...testEnvironment(databaseUrl, directory.path),
      MEDIA_STORE: bucketUrl,
    }
    return (await promisify(execFile)(process.execPath, [inject('command'), ...parameters], { env })).stdout
  }
  const parent = join(directory.path, 'backups')
  const backup = await kinora(['backup', parent], service.gateway.database.url, source.url)
  expect(backup).toMatch(new RegExp(`^media: 1 files, ${bytes.length} bytes`, 'm'))
  const path = /^(.*) \([\d.]+ s\)$/m.exec(backup)?.[1] ?? ''
  const restored = await kinora(['restore', path], database.url, target.url)
  expect(restored).toMatch(/^ledger: consistent \(\d+ invariants, \d+ ms\)$/m)
  expect(restored).toMatch(/^media: 1 files with the recorded content/m)
  expect(await kinora(['audit'], database.url, target.url)).toMatch(/^The ledger is consistent/m)
})
