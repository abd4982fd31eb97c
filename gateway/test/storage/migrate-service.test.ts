/**
 * The media of a running service moves from a directory to a bucket while customers read, create and delete: two rolling restarts,
 * a migration that is killed, and a last restart without the directory.
 */
import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'

import { beforeAll, expect, inject, test } from 'vitest'

import { auditMedia } from '../../src/backup/audit-media.ts'
import { createStores, openStorage } from '../../src/storage/open-storage.ts'
import { parseBucketUrl } from '../../src/storage/s3/bucket-url.ts'
import { jsonOf, send, type Sending } from '../faults/retrying.ts'
import { createBucket, useCredentials } from '../kit/buckets.ts'
import { acceptedAt } from '../kit/expired.ts'
import { completeTask, createAccount, createKey } from '../kit/factories.ts'
import { startUpgradeStack, type UpgradeStack } from '../upgrade/upgrade-stack.ts'

const isFull = process.env['PROVE_STORAGE'] === 'full'
const counts = isFull
  ? { results: 1_000, deletes: 50, readers: 4, creators: 2, kills: 3, sizeBytes: 200_000 }
  : { results: 60, deletes: 5, readers: 2, creators: 1, kills: 1, sizeBytes: 20_000 }

const run = promisify(execFile)
const sha256Of = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

beforeAll(useCredentials)

interface Result {
  id: string
  storageKey: string
  sha256: string
}

/** Customers that read, create and delete until they are stopped. */
const startCustomers = (
  { database, directory }: UpgradeStack,
  caller: Pick<Sending, 'key' | 'origins'>,
  results: Result[],
  toDelete: Result[],
) => {
  const stop = new AbortController()
  const { signal } = stop
  const figures = { reads: 0, created: 0, deleted: 0, retries: 0, failures: [] as string[] }
  /** The bytes of a response; undefined if the request failed. */
  const ask = async (path: string, more: Partial<Sending> = {}): Promise<Buffer | undefined> => {
    const sent = await send({ ...caller, path, signal: new AbortController().signal, ...more })
    figures.retries += sent.attempts - 1
    if (sent.kind === 'ok') return sent.bytes
    figures.failures.push(`${more.method ?? 'GET'} ${path}: ${sent.reason}`)
    return undefined
  }
  const read = async ({ id, sha256 }: Result) => {
    const headers = { accept: 'video/mp4' }
    const bytes = await ask(`/v1/videos/${encodeURIComponent(id)}/content`, { headers })
    figures.reads += 1
    if (bytes !== undefined && sha256Of(bytes) !== sha256) figures.failures.push(`${id} has other bytes`)
  }
  const create = async (prompt: string) => {
    const created = await ask('/v1/videos', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': prompt },
      body: JSON.stringify({ model: 'vidB-2', prompt, seconds: 4, size: '480x480' }),
    })
    if (created === undefined) return
    const id = String(jsonOf(created)['id'])
    for (let status = ''; status !== 'completed';) {
      const body = await ask(`/v1/videos/${encodeURIComponent(id)}`)
      status = body === undefined ? 'unknown' : String(jsonOf(body)['status'])
      if (status === 'failed' || status === 'unknown') {
        figures.failures.push(`${id} is ${status}`)
        return
      }
      await wait(100)
    }
    const { rows } = await database.postgres.query<Result & Record<string, unknown>>(
      `select task_id as id, storage_key as "storageKey", encode(sha256, 'hex') as sha256 from media where task_id = $1`,
      [id],
    )
    const [result] = rows
    if (result === undefined) return void figures.failures.push(`${id} has no row`)
    figures.created += 1
    results.push(result)
    await read(result)
  }
  const loop = async (work: (index: number) => Promise<void>) => {
    for (let index = 0; !signal.aborted; index += 1) await work(index)
  }
  const pick = () => results[Math.floor(Math.random() * results.length)]
  const running = [
    ...Array.from({ length: counts.readers }, () =>
      loop(async () => {
        const result = pick()
        if (result !== undefined) await read(result)
      }),
    ),
    ...Array.from({ length: counts.creators }, (_, creator) =>
      loop((index) => create(`A whale of ${directory}, ${creator} ${index}`)),
    ),
  ]
  return {
    figures,
    read,
    /** Deletes some of the results that nobody reads. */
    deleteSome: async (count: number) => {
      for (const { id } of toDelete.slice(figures.deleted, figures.deleted + count)) {
        await ask(`/v1/videos/${encodeURIComponent(id)}`, { method: 'DELETE' })
        figures.deleted += 1
      }
    },
    stop: async () => {
      stop.abort()
      await Promise.all(running)
    },
  }
}

/** One API and one worker after the other, with the settings of the moment. */
const restartAll = async ({ apis, workers }: UpgradeStack) => {
  for (const index of [0, 1] as const) {
    await Promise.all(
      [apis[index], workers[index]].map(async (role) => {
        await role.stop()
        await role.start()
      }),
    )
  }
}

test('media moves to a bucket while customers read, create and delete: no read and no create fails', async () => {
  await using stack = await startUpgradeStack({ hasDistinctVideos: true })
  const { database, directory } = stack
  const { postgres } = database
  const { url: bucketUrl } = await createBucket()
  const mediaDirectory = join(directory, 'media')
  const { accessKeyId, secretAccessKey } = inject('objectStore')
  stack.configure({ AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey })
  const command = inject('command')
  await stack.runCommand(command, 'migrate')

  const accountId = await createAccount(postgres, { balance: 1_000_000 })
  const { id: keyId, text: key } = await createKey(postgres, accountId)
  const { mediaStore } = await openStorage({ MEDIA_DIRECTORY: mediaDirectory })
  const results: Result[] = []
  for (let index = 0; index < counts.results; index += 1) {
    const { id } = await acceptedAt(postgres, { accountId, keyId }, new Date())
    const bytes = Buffer.alloc(counts.sizeBytes, `${id} `)
    const { storageKey } = await completeTask({ database, mediaStore }, accountId, id, { bytes })
    results.push({ id, storageKey, sha256: sha256Of(bytes) })
  }
  const toDelete = results.splice(0, counts.deletes)
  await Promise.all([...stack.apis, ...stack.workers].map((role) => role.start()))

  const customers = startCustomers(stack, { key, origins: stack.origins }, results, toDelete)
  const { figures } = customers
  const perStep = Math.floor(counts.deletes / 5)

  stack.configure({ MEDIA_STORE_ALSO_READ: bucketUrl })
  await restartAll(stack)
  await customers.deleteSome(perStep)
  stack.configure({ MEDIA_STORE: bucketUrl, MEDIA_STORE_ALSO_READ: mediaDirectory })
  await restartAll(stack)
  await customers.deleteSome(perStep)

  const { current } = await createStores({
    MEDIA_DIRECTORY: mediaDirectory,
    MEDIA_STORE: parseBucketUrl(bucketUrl),
  })
  const listBucket = async () => {
    const stored = new Map<string, number>()
    for await (const { key: each, storedAt } of current.list('videos')) stored.set(each, storedAt.getTime())
    return stored
  }
  const env = { PATH: process.env['PATH'], ...stack.environment }
  for (let kill = 1; kill <= counts.kills; kill += 1) {
    const before = (await listBucket()).size
    const migration = spawn(process.execPath, [command, 'storage', 'migrate'], { env, stdio: 'ignore' })
    const exit = once(migration, 'exit')
    while (migration.exitCode === null && (await listBucket()).size < before + counts.results / 10)
      await wait(5)
    migration.kill('SIGKILL')
    await exit
  }
  const copiedBefore = await listBucket()
  const deleting = customers.deleteSome(2 * perStep)
  const startedMs = performance.now()
  const { stdout } = await run(process.execPath, [command, 'storage', 'migrate', '--read-back'], { env })
  const migrationMs = performance.now() - startedMs
  await deleting
  expect(stdout).toContain('The media store has all objects.')
  const [, copied = ''] = /^copied: (\d+) objects/.exec(stdout) ?? []
  expect(Number(copied)).toBeGreaterThan(0)
  const copiedAfter = await listBucket()
  for (const [each, storedAt] of copiedBefore) {
    if (copiedAfter.has(each)) expect(copiedAfter.get(each)).toBe(storedAt)
  }

  stack.configure({ MEDIA_STORE_ALSO_READ: '' })
  await restartAll(stack)
  await customers.deleteSome(counts.deletes)
  await customers.stop()
  for (const result of results) await customers.read(result)
  console.log(
    `${counts.results} results and ${figures.created} more created meanwhile; ${figures.reads} reads, ${figures.deleted} deletes, ` +
      `${figures.retries} retries during restarts; ${counts.kills} kills of the migration, the last run copied ${copied} in ` +
      `${(migrationMs / 1000).toFixed(1)} s; failed: ${figures.failures.length}`,
  )
  expect(figures.failures).toEqual([])
  // A retry after a response with an error would hide a read that failed.
  const refused = (await stack.readLogs())
    .split('\n')
    .filter((line) => /"operation":.*"status":[45]/.test(line))
  expect(refused).toEqual([])
  expect(figures.created).toBeGreaterThan(0)
  expect(figures.deleted).toBe(counts.deletes)

  const quiet = { signal: new AbortController().signal, onProgress: () => undefined }
  expect(await auditMedia(postgres, current, quiet)).toMatchObject({
    ...{ files: results.length, missing: [], damaged: [], expired: 0 },
  })
  // What was deleted before the last restart is in neither store, and nothing else was lost.
  const stored = await listBucket()
  expect(stored.size).toBe(results.length)
  for (const { storageKey } of toDelete) expect(stored.has(storageKey)).toBe(false)
  const left = new Set(await readdir(join(mediaDirectory, 'videos', 'test')))
  const deletedFromBoth = toDelete.slice(0, 4 * perStep)
  expect(deletedFromBoth.filter(({ storageKey }) => left.has(storageKey.split('/').at(-1) ?? ''))).toEqual([])
})
