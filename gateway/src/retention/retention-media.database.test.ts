/** Expired results: the responses to readers, and the removal of files and rows. */
import { mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'

import { ask, askJson, expectProblem, pixelUri } from '../../test/kit/answers.ts'
import { clearingOf, daysAgo, recordingAt } from '../../test/kit/expired.ts'
import { completeTask, createAccount, createKey, endTask, type TestKey } from '../../test/kit/factories.ts'
import { isStored, listKeys, putBytes } from '../../test/kit/stored-media.ts'
import { startVendorGateway, type VendorGateway } from '../../test/kit/vendor-gateway.ts'
import { claimJob } from '../platform/engine/tick-store.ts'
import { uuidV7 } from '../platform/ids/uuid.ts'
import { createLog } from '../platform/log.ts'
import { connectPostgres } from '../platform/postgres.ts'
import type { MediaStore } from '../storage/port/media-store.ts'
import { takeDueFileRemovals } from '../storage/removal/file-removal-store.ts'
import { insertStoredFiles, insertVariant, lockSources } from '../storage/stored-file-store.ts'
import { createTranscriptionId } from '../transcription-tasks/transcription-id.ts'
import { finishTranscription } from '../transcription-tasks/transcription-task-store.ts'
import { deleteTasks } from '../videos/removal/delete-tasks.ts'
import { recordAttempts } from '../videos/task-attempt-store.ts'
import { dayOfTaskId } from '../videos/task-id.ts'
import { mediaDaysOf } from './account-term-store.ts'
import { alignExpiry } from './align-expiry.ts'
import { previewSweep } from './preview-sweep.ts'
import { startRetentionLoop } from './retention-loop.ts'
import {
  sweepFiles,
  sweepJobs,
  sweepOrphans,
  sweepMedia,
  sweepRows,
  type SweepDependencies,
} from './sweep.ts'

const sampleUrl = new URL('../../../dev/vendor/sample.mp4', import.meta.url)
const live = new AbortController().signal

let gateway: VendorGateway
let clearing: SweepDependencies
let accountId: string
let key: TestKey

beforeAll(async () => {
  gateway = await startVendorGateway()
  clearing = clearingOf(gateway)
})
afterAll(() => gateway[Symbol.asyncDispose]())
beforeEach(async () => {
  accountId = await createAccount(gateway.database.postgres)
  key = await createKey(gateway.database.postgres, accountId)
})

const query = <Row extends Record<string, unknown>>(text: string, values: unknown[] = []) =>
  gateway.database.postgres.query<Row>(text, values).then(({ rows }) => rows)
const read = (path: string) => ask(`${gateway.url}${path}`, key.text)
const exists = (storageKey: string) => isStored(gateway.mediaStore, storageKey)

const create = async (fields: Record<string, unknown> = {}) => {
  const order = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480', ...fields }
  return String((await askJson(`${gateway.url}/v1/videos`, key.text, order)).body['id'])
}
const complete = async (bytes?: Buffer) => {
  const id = await create()
  return { id, ...(await completeTask(gateway, accountId, id, bytes === undefined ? {} : { bytes })) }
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
    const { id, storageKey } = await complete(await readFile(sampleUrl))
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
    expect(await exists(storageKey)).toBe(true)

    expect(await sweepMedia(clearing, live)).toEqual({ expired: 2 })
    await expectGone()
    expect([await exists(storageKey), await exists(variant?.key ?? '')]).toEqual([false, false])
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
    const { storageKey, mediaId } = await complete()
    await sweepMedia(clearing, live)
    expect(await exists(storageKey)).toBe(true)
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
    expect(await sweepJobs(clearing, live)).toEqual({ jobs: 1 })
    expect(gateway.vendor.counts().deletes).toBe(deletes + 1)

    gateway.vendor.faults.down = true
    await age(other.id, 2)
    expect(await sweepMedia(clearing, live)).toEqual({ expired: 1 })
    expect(await exists(other.storageKey)).toBe(false)
    expect(await sweepJobs(clearing, live)).toEqual({ jobs: 0 })
    gateway.vendor.faults.down = false
    expect(await sweepJobs(clearing, live)).toEqual({ jobs: 0 })
    await query('update job_removals set next_try_at = now()')
    expect(await sweepJobs(clearing, live)).toEqual({ jobs: 1 })
    expect(await query('select from job_removals')).toEqual([])
  })

  test('the source of a remix is kept, here and at its provider, until the remix has ended', async () => {
    const { id, storageKey } = await complete()
    await madeBy(id, await vendorJob())
    const { body } = await askJson(`${gateway.url}/v1/videos/${id}/remix`, key.text, { prompt: 'At night' })
    await age(id, 2)
    const { deletes } = gateway.vendor.counts()
    expect(await sweepMedia(clearing, live)).toEqual({ expired: 0 })
    expect([await exists(storageKey), gateway.vendor.counts().deletes]).toEqual([true, deletes])
    await expect.poll(async () => (await read(`/v1/videos/${id}/content`)).status).toBe(410)
    const remix = await askJson(`${gateway.url}/v1/videos/${id}/remix`, key.text, { prompt: 'At dawn' })
    expectProblem(remix, 'media_expired')
    const failure = { kind: 'failed', code: 'task_timeout', message: '' } as const
    await endTask(gateway.database.postgres, String(body['id']), failure)
    expect(await sweepMedia(clearing, live)).toEqual({ expired: 1 })
    expect(await sweepJobs(clearing, live)).toEqual({ jobs: 1 })
    expect([await exists(storageKey), gateway.vendor.counts().deletes]).toEqual([false, deletes + 1])
  })

  test('a source that expires while its remix is being created is kept', async () => {
    const { id, storageKey, mediaId } = await complete()
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
    expect([await exists(storageKey), gateway.vendor.counts().deletes]).toEqual([true, deletes])
    await endTask(gateway.database.postgres, remix, { kind: 'failed', code: 'task_timeout', message: '' })
    expect(await sweepMedia(clearing, live)).toEqual({ expired: 1 })
  })

  test('a file that was removed without its row being marked is handled', async () => {
    const { id, storageKey } = await complete()
    await age(id, 2)
    await gateway.mediaStore.remove(storageKey)
    expect(await sweepMedia(clearing, live)).toEqual({ expired: 1 })
    expect(await mediaOf(id)).toEqual([{ kind: 'video', removed: true }])
  })

  test('a removal that was not committed is repeated', async () => {
    const { id, storageKey } = await complete()
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
    expect(await exists(storageKey)).toBe(false)
    expect(await mediaOf(id)).toEqual([{ kind: 'video', removed: false }])
    expectProblem(await read(await linkOf(id)), 'media_expired')
    expect(await sweepMedia(clearing, live)).toEqual({ expired: 1 })
  })

  test('a row locked by another process is skipped', async () => {
    const [taken, plain] = [await complete(), await complete()]
    for (const { id } of [taken, plain]) await age(id, 2)
    const { url } = gateway.database
    const elsewhere = connectPostgres({ url, connectionsMax: 1 }, createLog({ level: 'silent' }, 'test'))
    await elsewhere.transaction(async (database) => {
      await database.query('select from media where id = $1 for update', [taken.mediaId])
      expect(await sweepMedia(clearing, live)).toEqual({ expired: 1 })
    })
    await elsewhere.close()
    expect([await exists(taken.storageKey), await exists(plain.storageKey)]).toEqual([true, false])
    expect(await sweepMedia(clearing, live)).toEqual({ expired: 1 })
  })

  test('a file that cannot be removed is skipped', async () => {
    const [stubborn, plain] = [await complete(), await complete()]
    for (const { id } of [stubborn, plain]) await age(id, 2)
    await gateway.mediaStore.remove(stubborn.storageKey)
    await mkdir(join(gateway.directory, 'media', stubborn.storageKey, 'in the way'), { recursive: true })
    expect(await sweepMedia(clearing, live)).toEqual({ expired: 1 })
    expect(await exists(plain.storageKey)).toBe(false)
    await rm(join(gateway.directory, 'media', stubborn.storageKey), { recursive: true })
    expect(await sweepMedia(clearing, live)).toEqual({ expired: 1 })
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
    expect(await exists(first.storageKey)).toBe(false)
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

describe('a change of the retention', () => {
  const sweepWith = (media: number, rowsPerPage?: number) =>
    alignExpiry(gateway.database.postgres, { ...clearing.days(), media }, live, rowsPerPage)
  /** As if all changes had been made an hour ago, so that no result with the old expiry can be stored any more. */
  const settle = async () => {
    await query(`update applied_retention set changed_at = changed_at - interval '1 hour'`)
    await query(`update retention_changes set changed_at = changed_at - interval '1 hour'`)
  }
  const expireIn = (ids: string[], days: number) =>
    query('update media set expires_at = created_at + make_interval(days => $2) where task_id = any($1)', [
      ids,
      days,
    ])
  const daysOf = async (ids: string[]) => {
    const rows = await query<{ days: number }>(
      `select (extract(epoch from expires_at - created_at) / 86400)::float8 as days from media
        where task_id = any($1) order by id`,
      [ids],
    )
    return rows.map(({ days }) => days)
  }
  const completeSome = async () => [(await complete()).id, (await complete()).id, (await complete()).id]

  test('of the instance is applied to existing results, and again when it is settled, and then never', async () => {
    const ids = await completeSome()
    await sweepWith(12)
    expect(await daysOf(ids)).toEqual([12, 12, 12])
    // Stored meanwhile by a worker that did not know of the change.
    await expireIn(ids.slice(2), 7)
    await settle()
    await sweepWith(12)
    expect(await daysOf(ids)).toEqual([12, 12, 12])
    await expireIn(ids, 5)
    await sweepWith(12)
    expect(await daysOf(ids)).toEqual([5, 5, 5])
    await sweepWith(13)
    expect(await daysOf(ids)).toEqual([13, 13, 13])
  })

  test('that was interrupted is continued', async () => {
    const ids = await completeSome()
    await sweepWith(7)
    await settle()
    await sweepWith(7)
    await query(
      `create function interrupt() returns trigger language plpgsql as $$ begin raise exception 'interrupted'; end $$`,
    )
    const [, second] = await query<{ id: string }>(
      'select id from media where task_id = any($1) order by id',
      [ids],
    )
    await query(
      `create trigger interrupted before update on media for each row when (old.id = '${second?.id}') execute function interrupt()`,
    )
    await expect(sweepWith(9, 1)).rejects.toThrow('interrupted')
    expect(await daysOf(ids)).toEqual([9, expect.closeTo(7, 5), expect.closeTo(7, 5)])
    await query('drop function interrupt cascade')
    await settle()
    await sweepWith(9, 1)
    expect(await daysOf(ids)).toEqual([9, 9, 9])
  })

  test('of an account leaves the results of others alone', async () => {
    const ids = await completeSome()
    await sweepWith(7)
    await settle()
    await sweepWith(7)
    const other = await createAccount(gateway.database.postgres)
    await query('update media set account_id = $2 where task_id = $1', [ids[0], other])
    await expireIn(ids, 5)
    await query('update accounts set media_retention_days = 3 where id = $1', [accountId])
    await sweepWith(7)
    expect(await daysOf(ids)).toEqual([5, 3, 3])
    await settle()
    await sweepWith(7)
    expect(await query('select from retention_changes')).toEqual([])
  })
})

describe('a deleted video', () => {
  const remove = (id: string) => ask(`${gateway.url}/v1/videos/${id}`, key.text, { method: 'DELETE' })
  const attempt = (id: string) => ({
    ...{ taskId: id, day: dayOfTaskId(id) ?? '', provider: 'vendor', upstreamModel: 'm', decision: null },
    ...{ startedAt: new Date(), outcome: 'rejected' as const, isDuplicate: false },
    ...{ exchanges: [], failureReason: 'a prompt' },
  })
  const attemptsOf = (id: string) => query('select from task_attempts where task_id = $1', [id])
  const due = () =>
    Promise.all([
      query('update file_removals set next_try_at = now()'),
      query('update job_removals set next_try_at = now()'),
    ])

  test('takes its attempts with it, and gets no further one', async () => {
    const { postgres } = gateway.database
    const { id } = await complete()
    await recordAttempts(postgres, [attempt(id)])
    expect(await attemptsOf(id)).toHaveLength(1)
    expect((await remove(id)).status).toBe(200)
    expect(await attemptsOf(id)).toEqual([])
    await recordAttempts(postgres, [attempt(id)])
    expect(await attemptsOf(id)).toEqual([])
  })

  test('waits for an attempt that is being recorded, and takes it with it', async () => {
    const { url } = gateway.database
    const { id } = await complete()
    const elsewhere = connectPostgres({ url, connectionsMax: 1 }, createLog({ level: 'silent' }, 'test'))
    let removing: ReturnType<typeof remove> | undefined
    await elsewhere.transaction(async (database) => {
      await recordAttempts(database, [attempt(id)])
      removing = remove(id)
      await expect
        .poll(() =>
          query(
            `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
          ),
        )
        .toHaveLength(1)
    })
    await elsewhere.close()
    expect(await removing).toMatchObject({ status: 200 })
    expect(await attemptsOf(id)).toEqual([])
  })

  test('takes a thumbnail with it that is stored at the same time', async () => {
    const { postgres, url } = gateway.database
    const { id, mediaId } = await complete()
    const elsewhere = connectPostgres({ url, connectionsMax: 1 }, createLog({ level: 'silent' }, 'test'))
    let inserting: Promise<void> | undefined
    await elsewhere.transaction(async (database) => {
      await deleteTasks(database, [{ id, day: dayOfTaskId(id) ?? '', accountId }], [])
      inserting = insertVariant(postgres, mediaId, {
        ...{ id: uuidV7(), kind: 'thumbnail', storageKey: `variants/${mediaId}.jpg` },
        ...{ contentType: 'image/jpeg', sizeBytes: 1, sha256: '00' },
      })
      await expect
        .poll(() =>
          query(
            `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
          ),
        )
        .toHaveLength(1)
    })
    await inserting
    await elsewhere.close()
    expect(await mediaOf(id)).toEqual([])
  })

  test('has its file removed within ten minutes after the store is back, however long that was down', async () => {
    await query('truncate file_removals')
    await query(
      `insert into file_removals (storage_key, account_id, attempts, next_try_at) values ('videos/gone', $1, 10000, now())`,
      [accountId],
    )
    await takeDueFileRemovals(gateway.database.postgres, 1_000)
    expect(
      await query(
        `select from file_removals where account_id = $1 and next_try_at <= now() + interval '10 minutes'`,
        [accountId],
      ),
    ).toHaveLength(1)
    expect(await sweepFiles(clearing, live)).toEqual({ files: 0 })
    await due()
    expect(await sweepFiles(clearing, live)).toEqual({ files: 1 })
  })

  test('is gone while the store and the provider are unavailable, and its file and its job soon after', async () => {
    await query('truncate job_removals')
    const { id, storageKey } = await complete()
    await madeBy(id, await vendorJob())
    await gateway.mediaStore.remove(storageKey)
    await mkdir(join(gateway.directory, 'media', storageKey, 'in the way'), { recursive: true })
    gateway.vendor.faults.down = true
    expect((await remove(id)).status).toBe(200)
    await due()
    expect(await sweepFiles(clearing, live)).toEqual({ files: 0 })
    await rm(join(gateway.directory, 'media', storageKey), { recursive: true })
    await putBytes(gateway.mediaStore, storageKey, 'x')
    gateway.vendor.faults.down = false
    expect(await sweepFiles(clearing, live)).toEqual({ files: 0 })
    await due()
    const { deletes } = gateway.vendor.counts()
    expect([await sweepFiles(clearing, live), await sweepJobs(clearing, live)]).toEqual([
      { files: 1 },
      { jobs: 1 },
    ])
    expect([await exists(storageKey), gateway.vendor.counts().deletes]).toEqual([false, deletes + 1])
    expect(await query('select from file_removals union all select from job_removals')).toEqual([])
  })

  test('a job is given up after 30 days, and kept until then if its provider is unknown', async () => {
    await query(
      `insert into job_removals (provider, upstream, task_id, account_id, requested_at, next_try_at)
       select provider, '{}', '', $1, now() - make_interval(days => days), now()
         from (values ('vendor', 31), ('removed', 29)) as removal (provider, days)`,
      [accountId],
    )
    expect(await sweepJobs(clearing, live)).toEqual({ jobs: 0 })
    expect(await query('delete from job_removals returning provider')).toEqual([{ provider: 'removed' }])
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
      for (const { storageKey } of files) await putBytes(gateway.mediaStore, storageKey, 'x')
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
    const kept = ['clip', 'portrait'].map((kind) => `characters/${open}/${kind}`)
    expect(await listKeys(gateway.mediaStore, 'characters')).toEqual(kept)
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
  const storedAts = new Map<string, Date>()
  /** Stores an object as if that had been at another time, which no bucket allows. */
  const put = async (storageKey: string, storedAt: Date) => {
    await putBytes(gateway.mediaStore, storageKey, 'x')
    storedAts.set(storageKey, storedAt)
    return storageKey
  }
  const sweepAged = () => {
    const { mediaStore } = gateway
    const list: MediaStore['list'] = async function* (folder) {
      for await (const stored of mediaStore.list(folder))
        yield { ...stored, storedAt: storedAts.get(stored.key) ?? stored.storedAt }
    }
    return sweepOrphans({ ...clearing, mediaStore: { ...mediaStore, list } }, live)
  }

  test('are removed after a day from every folder; newer files and files with a row are kept', async () => {
    const { storageKey: known } = await complete()
    storedAts.set(known, daysAgo(9))
    const { recordingKey } = await recordingAt(
      gateway.database.postgres,
      { accountId, keyId: key.id },
      daysAgo(3),
    )
    const stay = [
      known,
      await put(recordingKey, daysAgo(3)),
      await put('videos/2026-01-01/young.mp4', daysAgo(0.9)),
      await put('notes/of an operator.txt', daysAgo(100)),
      await put('elsewhere/file', daysAgo(100)),
    ]
    const go = [
      await put(`videos/2026-01-01/${uuidV7()}.mp4`, daysAgo(2)),
      await put(`variants/${uuidV7()}.jpg`, daysAgo(2)),
      await put(`references/${uuidV7()}`, daysAgo(2)),
      await put(`characters/sources/${uuidV7()}`, daysAgo(2)),
      await put('recordings/2026-01-01/nonsense', daysAgo(2)),
      await put(`recordings/2026-01-01/${createTranscriptionId(daysAgo(2).getTime())}`, daysAgo(2)),
    ]
    expect(await sweepAged()).toEqual({ orphans: go.length })
    expect(await Promise.all(go.map(exists))).toEqual(go.map(() => false))
    expect(await Promise.all(stay.map(exists))).toEqual(stay.map(() => true))
  })

  test('a file whose row is marked as removed is removed', async () => {
    const { id, storageKey } = await complete()
    await age(id, 2)
    await sweepMedia(clearing, live)
    await put(storageKey, daysAgo(2))
    expect(await sweepAged()).toEqual({ orphans: 1 })
  })

  test('nothing is removed if most files are unknown, because the directory belongs to another database', async () => {
    const keys = await Promise.all(
      Array.from({ length: 101 }, (_, n) => put(`references/strange-${n}`, daysAgo(2))),
    )
    expect(await sweepAged()).toEqual({ orphans: 0 })
    expect(await Promise.all(keys.map(exists))).toEqual(keys.map(() => true))
    await gateway.mediaStore.removeMany(keys)
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
  const { id, storageKey } = await complete()
  await age(id, 2)
  const workers = [startRetentionLoop(clearing), startRetentionLoop(clearing)]
  await expect.poll(() => mediaOf(id)).toEqual([{ kind: 'video', removed: true }])
  await Promise.all(workers.map(({ stop }) => stop()))
  expect(await exists(storageKey)).toBe(false)
})
