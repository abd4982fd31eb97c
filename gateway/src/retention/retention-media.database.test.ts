/** Expired results: the responses to readers, and the removal of files and rows. */
import { mkdir, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'

import { ask, askJson, expectProblem, pixelUri } from '../../test/kit/answers.ts'
import { clearingOf, daysAgo, exists, recordingAt } from '../../test/kit/expired.ts'
import { completeTask, createAccount, createKey, endTask, type TestKey } from '../../test/kit/factories.ts'
import { startVendorGateway, type VendorGateway } from '../../test/kit/vendor-gateway.ts'
import { claimJob } from '../platform/engine/tick-store.ts'
import { createLog } from '../platform/log.ts'
import { connectPostgres } from '../platform/postgres.ts'
import { uuidV7 } from '../platform/uuid.ts'
import { insertStoredFiles, lockSources } from '../storage/stored-file-store.ts'
import { createTranscriptionId } from '../transcription-tasks/transcription-id.ts'
import { finishTranscription } from '../transcription-tasks/transcription-task-store.ts'
import { mediaDaysOf } from './account-term-store.ts'
import { previewSweep } from './preview-sweep.ts'
import { startRetentionLoop } from './retention-loop.ts'
import { sweepOrphans, sweepMedia, sweepRows, type SweepDependencies } from './sweep.ts'

const sampleUrl = new URL('../../../dev/vendor/sample.mp4', import.meta.url)
const live = new AbortController().signal

let gateway: VendorGateway
let clearing: SweepDependencies
let accountId: string
let key: TestKey

beforeAll(async () => {
  gateway = await startVendorGateway()
  clearing = await clearingOf(gateway)
})
afterAll(() => gateway[Symbol.asyncDispose]())
beforeEach(async () => {
  accountId = await createAccount(gateway.database.postgres)
  key = await createKey(gateway.database.postgres, accountId)
})

const query = <Row extends Record<string, unknown>>(text: string, values: unknown[] = []) =>
  gateway.database.postgres.query<Row>(text, values).then(({ rows }) => rows)
const read = (path: string) => ask(`${gateway.url}${path}`, key.text)
const pathOf = (storageKey: string) => join(gateway.directory, 'media', storageKey)

const create = async (fields: Record<string, unknown> = {}) => {
  const order = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480', ...fields }
  return String((await askJson(`${gateway.url}/v1/videos`, key.text, order)).body['id'])
}
const complete = async (bytes?: Buffer) => {
  const id = await create()
  const { mediaId } = await completeTask(gateway, accountId, id, bytes === undefined ? {} : { bytes })
  return { id, mediaId, path: pathOf(`videos/test/${mediaId}.mp4`) }
}
/** Moves the results of a task into the past. */
const age = (taskId: string, days: number) =>
  query(
    `update media set created_at = created_at - make_interval(days => $2),
            expires_at = expires_at - make_interval(days => $2) where task_id = $1`,
    [taskId, days],
  )
/** A job at the vendor, assigned to the task. */
const vendorJob = async () => {
  const submitted = await ask(`${gateway.vendor.url}/v1/videos`, 'vendor-key-of-tests', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', prompt: 'A whale', seconds: '4', size: '480x480' }),
  })
  return String(submitted.body['id'])
}
const madeBy = (taskId: string, job: string) =>
  query('update video_tasks set upstream = $2 where id = $1', [taskId, JSON.stringify({ id: job })])
const linkOf = async (taskId: string) => {
  const { body } = await read(`/v1/videos/${taskId}`)
  const { pathname, search } = new URL(String(body['video_url']))
  return `${pathname}${search}`
}
const mediaOf = (taskId: string) =>
  query<{ kind: string; removed: boolean }>(
    'select kind, removed_at is not null as removed from media where task_id = $1 order by kind',
    [taskId],
  )

describe('an expired result', () => {
  test('stays completed, answers 410 before and after its file is removed, and is removed with its variants', async () => {
    const { id, path } = await complete(await readFile(sampleUrl))
    const drawn = await fetch(`${gateway.url}/v1/videos/${id}/content?variant=thumbnail`, {
      headers: { authorization: `Bearer ${key.text}` },
    })
    expect(drawn.status).toBe(200)
    await drawn.arrayBuffer()
    const [variant] = await query<{ key: string }>(
      `select storage_key as key from media where task_id = $1 and kind = 'thumbnail'`,
      [id],
    )
    await age(id, 2)

    const expectGone = async () => {
      // A status may be served from the cache for a moment.
      await expect
        .poll(async () => {
          const { body, headers } = await read(`/v1/videos/${id}`)
          const isExpired = Date.parse(headers.get('x-media-expires-at') ?? '') < Date.now()
          return { status: body['status'], isExpired }
        })
        .toEqual({ status: 'completed', isExpired: true })
      expectProblem(await read(await linkOf(id)), 'media_expired')
      expectProblem(await read(`/v1/videos/${id}/content?variant=thumbnail`), 'media_expired')
    }
    await expectGone()
    expect(await exists(path)).toBe(true)

    expect(await sweepMedia(clearing, live)).toEqual({ expired: 2 })
    await expectGone()
    expect([await exists(path), await exists(pathOf(variant?.key ?? ''))]).toEqual([false, false])
    expect(await mediaOf(id)).toEqual([
      { kind: 'thumbnail', removed: true },
      { kind: 'video', removed: true },
    ])
    expect(await sweepMedia(clearing, live)).toEqual({ expired: 0 })
  })

  test('a preview counts it with its bytes, and expired idempotency keys', async () => {
    const before = await previewSweep(clearing, live)
    const { id } = await complete(Buffer.alloc(1_000))
    await age(id, 2)
    await query(
      `insert into idempotency_keys (account_id, name, operation, fingerprint, expires_at)
       values ($1, 'name', 'createVideo', 'fingerprint', now())`,
      [accountId],
    )
    const { media, responses } = await previewSweep(clearing, live)
    expect(media).toEqual({
      expired: before.media.expired + 1,
      expiredBytes: before.media.expiredBytes + 1_000,
      left: before.media.left,
    })
    expect(responses).toBe(before.responses + 1)
    await sweepMedia(clearing, live)
  })

  test('other results are kept', async () => {
    const { path, mediaId } = await complete()
    await sweepMedia(clearing, live)
    expect(await exists(path)).toBe(true)
    expect(await query('select removed_at from media where id = $1', [mediaId])).toEqual([
      { removed_at: null },
    ])
  })

  test('a job that the provider kept for remixes is discarded, and an unreachable provider does not delay the removal', async () => {
    const kept = await complete()
    const other = await complete()
    await madeBy(kept.id, await vendorJob())
    await madeBy(other.id, 'job-of-nobody')
    await age(kept.id, 2)
    const { deletes } = gateway.vendor.counts()
    expect(await sweepMedia(clearing, live)).toEqual({ expired: 1 })
    expect(gateway.vendor.counts().deletes).toBe(deletes + 1)

    gateway.vendor.faults.down = true
    await age(other.id, 2)
    expect(await sweepMedia(clearing, live)).toEqual({ expired: 1 })
    gateway.vendor.faults.down = false
    expect(await exists(other.path)).toBe(false)
  })

  test('the source of a remix is kept, here and at its provider, until the remix has ended', async () => {
    const { id, path } = await complete()
    await madeBy(id, await vendorJob())
    const { body } = await askJson(`${gateway.url}/v1/videos/${id}/remix`, key.text, { prompt: 'At night' })
    await age(id, 2)
    const { deletes } = gateway.vendor.counts()
    expect(await sweepMedia(clearing, live)).toEqual({ expired: 0 })
    expect([await exists(path), gateway.vendor.counts().deletes]).toEqual([true, deletes])
    await expect.poll(async () => (await read(`/v1/videos/${id}/content`)).status).toBe(410)
    const remix = await askJson(`${gateway.url}/v1/videos/${id}/remix`, key.text, { prompt: 'At dawn' })
    expectProblem(remix, 'media_expired')
    const failure = { kind: 'failed', code: 'task_timeout', message: '' } as const
    await endTask(gateway.database.postgres, String(body['id']), failure)
    expect(await sweepMedia(clearing, live)).toEqual({ expired: 1 })
    expect([await exists(path), gateway.vendor.counts().deletes]).toEqual([false, deletes + 1])
  })

  test('a source that expires while its remix is being created is kept', async () => {
    const { id, path, mediaId } = await complete()
    await madeBy(id, await vendorJob())
    const remix = await create()
    await age(id, 2)
    const { deletes } = gateway.vendor.counts()
    const { url } = gateway.database
    const elsewhere = connectPostgres({ url, connectionsMax: 1 }, createLog({ level: 'silent' }, 'test'))
    await elsewhere.transaction(async (database) => {
      await lockSources(database, [mediaId])
      await database.query('update open_tasks set source_task_id = $2 where task_id = $1', [remix, id])
      expect(await sweepMedia(clearing, live)).toEqual({ expired: 0 })
    })
    await elsewhere.close()
    expect(await sweepMedia(clearing, live)).toEqual({ expired: 0 })
    expect([await exists(path), gateway.vendor.counts().deletes]).toEqual([true, deletes])
    await endTask(gateway.database.postgres, remix, { kind: 'failed', code: 'task_timeout', message: '' })
    expect(await sweepMedia(clearing, live)).toEqual({ expired: 1 })
  })

  test('a file that was removed without its row being marked is handled', async () => {
    const { id, path } = await complete()
    await age(id, 2)
    await rm(path)
    expect(await sweepMedia(clearing, live)).toEqual({ expired: 1 })
    expect(await mediaOf(id)).toEqual([{ kind: 'video', removed: true }])
  })

  test('a removal that was not committed is repeated', async () => {
    const { id, path } = await complete()
    await age(id, 2)
    const failing: SweepDependencies = {
      ...clearing,
      postgres: {
        ...clearing.postgres,
        transaction: (work) =>
          clearing.postgres.transaction(async (database) => {
            await work(database)
            throw new Error('the process died')
          }),
      },
    }
    await expect(sweepMedia(failing, live)).rejects.toThrow('the process died')
    expect(await exists(path)).toBe(false)
    expect(await mediaOf(id)).toEqual([{ kind: 'video', removed: false }])
    expectProblem(await read(await linkOf(id)), 'media_expired')
    expect(await sweepMedia(clearing, live)).toEqual({ expired: 1 })
  })

  test('rows locked by another process and files that cannot be removed are skipped', async () => {
    const [taken, stubborn, plain] = [await complete(), await complete(), await complete()]
    for (const { id } of [taken, stubborn, plain]) await age(id, 2)
    await rm(stubborn.path)
    await mkdir(join(stubborn.path, 'in the way'), { recursive: true })
    const { url } = gateway.database
    const elsewhere = connectPostgres({ url, connectionsMax: 1 }, createLog({ level: 'silent' }, 'test'))
    await elsewhere.transaction(async (database) => {
      await database.query('select from media where id = $1 for update', [taken.mediaId])
      expect(await sweepMedia(clearing, live)).toEqual({ expired: 1 })
    })
    await elsewhere.close()
    expect([await exists(taken.path), await exists(plain.path)]).toEqual([true, false])
    await rm(stubborn.path, { recursive: true })
    expect(await sweepMedia(clearing, live)).toEqual({ expired: 2 })
  })

  test('its row is deleted when its task has expired too', async () => {
    const { id } = await complete()
    await age(id, 31)
    await sweepMedia(clearing, live)
    await query('update accounts set task_retention_days = 40 where id = $1', [accountId])
    await sweepRows(clearing, live)
    expect(await mediaOf(id)).toHaveLength(1)
    await query('update accounts set task_retention_days = null where id = $1', [accountId])
    await sweepRows(clearing, live)
    expect(await mediaOf(id)).toHaveLength(0)
  })
})

describe('the retention of an account', () => {
  const daysLeft = async (taskId: string) => {
    const [row] = await query<{ days: number }>(
      `select extract(epoch from expires_at - created_at) / 86400 as days from media where task_id = $1 and kind = 'video'`,
      [taskId],
    )
    return Math.round(row?.days ?? 0)
  }
  const setTerms = (media: number | null, task: number | null) =>
    query('update accounts set media_retention_days = $2, task_retention_days = $3 where id = $1', [
      accountId,
      media,
      task,
    ])

  test('overrides the instance setting for new results and never exceeds the task retention', async () => {
    const days = async () => (await mediaDaysOf(gateway.database.postgres, [accountId], clearing.days()))[0]
    expect(await days()).toBe(7)
    await setTerms(90, null)
    expect(await days()).toBe(30)
    await setTerms(90, 60)
    expect(await days()).toBe(60)
    await setTerms(null, 3)
    expect(await days()).toBe(3)
  })

  test('applies to existing results and variants when it changes, but restores nothing', async () => {
    const [first, second] = [await complete(), await complete()]
    await insertStoredFiles(gateway.database.postgres, [
      {
        ...{
          id: uuidV7(),
          accountId,
          taskId: first.id,
          kind: 'thumbnail',
          storageKey: `variants/${uuidV7()}.jpg`,
        },
        ...{
          contentType: 'image/jpeg',
          sizeBytes: 1,
          sha256: '00',
          width: null,
          height: null,
          durationMs: null,
        },
        expiresAt: daysAgo(-1),
      },
    ])
    await age(second.id, 2)
    await setTerms(20, null)
    await sweepRows(clearing, live)
    expect(await daysLeft(first.id)).toBe(20)
    const expiries = await query('select distinct expires_at from media where task_id = $1', [first.id])
    expect(expiries).toHaveLength(1)
    expect(await daysLeft(second.id)).toBe(1)

    await age(first.id, 3)
    await setTerms(2, null)
    await sweepRows(clearing, live)
    expect(await sweepMedia(clearing, live)).toEqual({ expired: 3 })
    expect(await exists(first.path)).toBe(false)
  })

  test('applies to transcripts', async () => {
    const { id, day } = await recordingAt(gateway.database.postgres, { accountId, keyId: key.id }, daysAgo(0))
    await finishTranscription(gateway.database.postgres, day, id, { kind: 'completed' }, daysAgo(-7))
    await setTerms(2, null)
    await sweepRows(clearing, live)
    const [row] = await query<{ days: number }>(
      `select extract(epoch from expires_at - finished_at) / 86400 as days from transcription_tasks
        where day = $1 and id = $2`,
      [day, id],
    )
    expect(row?.days).toBe(2)
  })
})

describe('leftovers of finished tasks', () => {
  test('images and characters of a finished task are removed; those of an open task are kept', async () => {
    const ended = await create({ input_reference: pixelUri })
    const open = await create({ input_reference: pixelUri })
    const characterFor = async (taskId: string) => {
      const files = ['clip', 'portrait'].map((kind) => ({
        ...{
          id: uuidV7(),
          accountId,
          taskId: uuidV7(),
          kind: kind as 'clip',
          storageKey: `characters/${taskId}/${kind}`,
        },
        ...{
          contentType: 'image/jpeg',
          sizeBytes: 1,
          sha256: '00',
          width: null,
          height: null,
          durationMs: null,
        },
        expiresAt: null,
      }))
      await insertStoredFiles(gateway.database.postgres, files)
      for (const { storageKey } of files) {
        await mkdir(dirname(pathOf(storageKey)), { recursive: true })
        await writeFile(pathOf(storageKey), 'x')
      }
      await query(
        `insert into characters (id, account_id, username, source, clip_media_id, portrait_media_id, task_id)
         values ($1, $2, $3, 'a source', $4, $5, $6)`,
        [uuidV7(), accountId, `c${uuidV7().slice(-12)}`, files[0]?.id, files[1]?.id, taskId],
      )
    }
    await characterFor(ended)
    await characterFor(open)
    await endTask(gateway.database.postgres, ended, { kind: 'failed', code: 'upstream_error', message: '' })
    expect(await sweepRows(clearing, live)).toMatchObject({ leftOver: 0 })
    for (const table of ['media', 'characters']) {
      await query(`update ${table} set created_at = now() - interval '2 hours' where account_id = $1`, [
        accountId,
      ])
    }

    expect(await sweepRows(clearing, live)).toMatchObject({ leftOver: 3 })
    expect(await readdir(pathOf(`characters/${ended}`))).toEqual([])
    expect(await readdir(pathOf(`characters/${open}`))).toHaveLength(2)
    expect(await mediaOf(ended)).toEqual([])
    expect(await mediaOf(open)).toEqual([{ kind: 'reference', removed: false }])
    expect(await query('select task_id from characters where account_id = $1', [accountId])).toEqual([
      { task_id: open },
    ])
  })

  test('expired idempotency keys are deleted', async () => {
    await query(
      `insert into idempotency_keys (account_id, name, operation, fingerprint, expires_at)
       select $1, decode(lpad(to_hex(n), 8, '0'), 'hex'), 'createVideo', '', now() + make_interval(hours => n - 3)
         from generate_series(1, 5) n`,
      [accountId],
    )
    expect(await sweepRows(clearing, live)).toMatchObject({ responses: 3 })
    expect(await query('select from idempotency_keys where account_id = $1', [accountId])).toHaveLength(2)
  })
})

describe('files without a row', () => {
  const put = async (storageKey: string, writtenAt: Date) => {
    await mkdir(dirname(pathOf(storageKey)), { recursive: true })
    await writeFile(pathOf(storageKey), 'x')
    await utimes(pathOf(storageKey), writtenAt, writtenAt)
    return pathOf(storageKey)
  }

  test('are removed after a day from every folder; newer files and files with a row are kept', async () => {
    const { path: known } = await complete()
    await utimes(known, daysAgo(9), daysAgo(9))
    const { recordingKey } = await recordingAt(
      gateway.database.postgres,
      { accountId, keyId: key.id },
      daysAgo(3),
    )
    const stay = [
      known,
      await put(recordingKey, daysAgo(3)),
      await put('videos/2026-01-01/young.mp4', daysAgo(0.9)),
      await put('spool/young', daysAgo(0.9)),
      await put('notes of an operator.txt', daysAgo(100)),
      await put('elsewhere/file', daysAgo(100)),
    ]
    const go = [
      await put(`videos/2026-01-01/${uuidV7()}.mp4`, daysAgo(2)),
      await put(`variants/${uuidV7()}.jpg`, daysAgo(2)),
      await put(`references/${uuidV7()}`, daysAgo(2)),
      await put(`characters/sources/${uuidV7()}`, daysAgo(2)),
      await put('recordings/2026-01-01/nonsense', daysAgo(2)),
      await put(`recordings/2026-01-01/${createTranscriptionId(daysAgo(2).getTime())}`, daysAgo(2)),
      await put('spool/old', daysAgo(2)),
    ]
    expect(await sweepOrphans(clearing, live)).toEqual({ orphans: go.length })
    expect(await Promise.all(go.map(exists))).toEqual(go.map(() => false))
    expect(await Promise.all(stay.map(exists))).toEqual(stay.map(() => true))
  })

  test('a file whose row is marked as removed is removed', async () => {
    const { id, path } = await complete()
    await age(id, 2)
    await sweepMedia(clearing, live)
    await writeFile(path, 'back again')
    await utimes(path, daysAgo(2), daysAgo(2))
    expect(await sweepOrphans(clearing, live)).toEqual({ orphans: 1 })
  })

  test('nothing is removed if most files are unknown, because the directory belongs to another database', async () => {
    const paths = await Promise.all(
      Array.from({ length: 101 }, (_, n) => put(`references/strange-${n}`, daysAgo(2))),
    )
    expect(await sweepOrphans(clearing, live)).toEqual({ orphans: 0 })
    expect(await Promise.all(paths.map(exists))).toEqual(paths.map(() => true))
    await Promise.all(paths.map((path) => rm(path)))
  })
})

test('one of several workers gets a periodic job until it is due again', async () => {
  const { postgres } = gateway.database
  const turns = await Promise.all([1, 2, 3].map(() => claimJob(postgres, 'retention', 'a part', 60_000)))
  expect(turns.filter(Boolean)).toHaveLength(1)
  await query(`update ticks set ticked_at = now() - interval '61 seconds' where key = 'a part'`)
  expect(await claimJob(postgres, 'retention', 'a part', 60_000)).toBe(true)
})

test('two workers sweep concurrently and stop on request', async () => {
  await query(`delete from ticks where loop = 'retention'`)
  const { id, path } = await complete()
  await age(id, 2)
  const workers = [startRetentionLoop(clearing), startRetentionLoop(clearing)]
  await expect.poll(() => mediaOf(id)).toEqual([{ kind: 'video', removed: true }])
  await Promise.all(workers.map(({ stop }) => stop()))
  expect(await exists(path)).toBe(false)
})
