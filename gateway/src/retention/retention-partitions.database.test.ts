/** Expired tasks are deleted by the retention of their account, and months when nothing in them is needed; the ledger is kept. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, expect, test } from 'vitest'

import { createDatabase, type TestDatabase } from '../../test/kit/database.ts'
import { acceptedAt, clearingOf, daysAgo, recordingAt } from '../../test/kit/expired.ts'
import { completeTask, createAccount, createKey, endTask } from '../../test/kit/factories.ts'
import { brokenInvariants } from '../../test/kit/ledger.ts'
import { findCharged } from '../billing/ledger/receipt-store.ts'
import { createMeter, type Meter } from '../billing/metering/meter.ts'
import { priceOf } from '../billing/prices/price.ts'
import { createLog } from '../platform/log.ts'
import { openStorage } from '../storage/open-storage.ts'
import { finishTranscription, clearRecordingKey } from '../transcription-tasks/transcription-task-store.ts'
import { recordAttempts } from '../videos/task-attempt-store.ts'
import { previewSweep } from './preview-sweep.ts'
import { sweepRows, type SweepDependencies } from './sweep.ts'

const tables = ['metered_requests', 'request_log', 'task_events', 'transcription_tasks', 'video_tasks']
const failure = { kind: 'failed', code: 'upstream_error', message: '' } as const

let database: TestDatabase
let directory: string
let clearing: SweepDependencies
let meter: Meter
let owner: { accountId: string; keyId: string }

beforeEach(async () => {
  database = await createDatabase()
  directory = await mkdtemp(join(tmpdir(), 'kinora-past-'))
  clearing = clearingOf({ database, ...(await openStorage({ MEDIA_DIRECTORY: directory })) })
  meter = createMeter({ postgres: database.postgres, log: createLog({ level: 'silent' }, 'test') })
  const accountId = await createAccount(database.postgres)
  owner = { accountId, keyId: (await createKey(database.postgres, accountId)).id }
})
afterEach(async () => {
  await meter.close()
  await database[Symbol.asyncDispose]()
  await rm(directory, { recursive: true })
})

const query = <Row extends Record<string, unknown>>(text: string, values: unknown[] = []) =>
  database.postgres.query<Row>(text, values).then(({ rows }) => rows)

/** On every day of a month, more than the age of the middle of the last month, and less than that of the end of the third last. */
const termDays = 50
const dropped = async (task = termDays) => {
  const days = () => ({ media: 7, task, log: termDays })
  const { partitions } = await sweepRows({ ...clearing, days }, new AbortController().signal)
  return partitions.toSorted()
}

/** A month in the past: its first day, its middle, and the suffix of its partitions. */
const monthAgo = (months: number) => {
  const now = new Date()
  const first = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months, 1))
  const day = first.toISOString().slice(0, 10)
  return {
    day,
    middle: new Date(first.getTime() + 14 * 86_400_000),
    suffix: day.slice(0, 7).replace('-', '_'),
  }
}
const makeMonth = async (months: number) => {
  const { day, suffix } = monthAgo(months)
  for (const table of [...tables, 'ledger_entries']) {
    await query(
      `create table ${table}_${suffix} partition of ${table} for values from ('${day}') to ('${monthAgo(months - 1).day}')`,
    )
  }
  return monthAgo(months)
}
const named = (suffix: string) => tables.map((table) => `${table}_${suffix}`)
const isThere = async (name: string) => {
  const [row] = await query<{ there: string | null }>('select to_regclass($1) as there', [name])
  return row?.there !== null
}

const completedAt = async (createdAt: Date) => {
  const task = await acceptedAt(database.postgres, owner, createdAt)
  await completeTask({ database, ...clearing }, owner.accountId, task.id)
  return task
}
const transcribedAt = async (createdAt: Date) => {
  const { id, day } = await recordingAt(database.postgres, owner, createdAt)
  await finishTranscription(database.postgres, day, id, failure, createdAt)
  await clearRecordingKey(database.postgres, day, id)
}
/** A metered request, whose rows are moved to the given day. */
const meteredAt = async (at: Date, { isOpen = false }: { isOpen?: boolean } = {}) => {
  const heldFor = [priceOf('million_characters', 1_000_000, 10)]
  const caller = {
    ...{ ...owner, kind: 'payg' as const, scopes: [], models: undefined, addresses: undefined, limits: {} },
    ...{ requestsPerMinute: undefined, dialect: 'reference' as const, hasQuota: false, currency: 'USD' },
  }
  const { id, settle } = await meter.open({
    ...{ caller, operation: 'createSpeech', model: { id: 'm', name: 'm' }, provider: 'p', heldFor },
  })
  if (!isOpen) await settle('completed', heldFor)
  await query('update metered_requests set day = $2 where id = $1', [id, at])
  await query('update ledger_entries set day = $2 where task_id = $1', [id, at])
  return id
}
const loggedAt = (at: Date) =>
  query(
    `insert into request_log (day, id, at, operation, method, path, status, duration_ms, address)
     values ($1::timestamptz::date, 'req', $1, 'getVideo', 'GET', '/', 200, 1, '127.0.0.1')`,
    [at],
  )

const books = () =>
  query(
    `select available_micros, held_micros, (select count(*) from ledger_entries) as entries,
            (select coalesce(sum(hashtextextended(l::text, 0)), 0) from ledger_entries l) as digest from balances`,
  )
const expectSound = async () => expect(await brokenInvariants(database.postgres)).toEqual([])

test('a month is dropped when all of it is expired; other months and the ledger are kept, and the audit passes', async () => {
  const [old, recent] = [await makeMonth(3), await makeMonth(1)]
  for (const { middle } of [old, recent]) {
    await completedAt(middle)
    await meteredAt(middle)
    await transcribedAt(middle)
    await loggedAt(middle)
  }
  const before = await books()
  expect(await dropped()).toEqual(named(old.suffix))
  for (const name of named(old.suffix)) {
    expect([await isThere(name), await isThere(`${name}_expired`)]).toEqual([false, false])
  }
  for (const name of [...named(recent.suffix), `ledger_entries_${old.suffix}`])
    expect(await isThere(name)).toBe(true)
  for (const table of tables) {
    const rows = await query<{ day: string }>(`select day from ${table}`)
    expect(rows.map(({ day }) => day.slice(0, 7)).every((month) => month === recent.day.slice(0, 7))).toBe(
      true,
    )
    expect(rows).not.toEqual([])
  }
  expect(await books()).toEqual(before)
  await expectSound()
  expect(await dropped()).toEqual([])
})

test('a month stays for as long as an account retains a task of it', async () => {
  const { suffix, middle } = await makeMonth(4)
  await completedAt(middle)
  await query('update accounts set task_retention_days = 150')
  const kept = [`task_events_${suffix}`, `video_tasks_${suffix}`]
  expect(await dropped()).toEqual(named(suffix).filter((name) => !kept.includes(name)))
  await query('update accounts set task_retention_days = null')
  expect(await dropped()).toEqual(kept)
})

test('what an account no longer retains is deleted, although another account keeps its own', async () => {
  const { postgres } = database
  const createOwner = async () => {
    const accountId = await createAccount(postgres)
    return { accountId, keyId: (await createKey(postgres, accountId)).id }
  }
  const keeper = await createOwner()
  await query('update accounts set task_retention_days = 36500 where id = $1', [keeper.accountId])
  const work = async (createdAt: Date) => {
    const { id, day } = await completedAt(createdAt)
    await recordAttempts(postgres, [
      {
        ...{ taskId: id, day, provider: 'vendor', upstreamModel: 'm', decision: null, startedAt: createdAt },
        ...{ outcome: 'accepted', isDuplicate: false, exchanges: [], failureReason: null },
      },
    ])
    const recording = await recordingAt(postgres, owner, createdAt)
    await query('insert into transcription_segments (task_id, n, start_ms, end_ms) values ($1, 0, 0, 1)', [
      recording.id,
    ])
    await finishTranscription(postgres, recording.day, recording.id, { kind: 'completed' }, daysAgo(-1))
    const request = await meteredAt(createdAt)
    await query('update metered_requests set created_at = $2 where id = $1', [request, createdAt])
    return { id, day }
  }
  const others = owner
  const expired = await work(daysAgo(termDays + 1))
  await work(daysAgo(termDays - 1))
  owner = keeper
  await work(daysAgo(termDays + 1))
  await work(daysAgo(termDays - 1))
  await query(
    `insert into task_attempts (day, task_id, attempt, provider, upstream_model, started_at, outcome)
     values (current_date - ${termDays + 1}, 'of a deleted task', 1, 'vendor', 'm', now(), 'accepted')`,
  )
  const receipt = { ...expired, accountId: others.accountId }
  const charged = await findCharged(postgres, receipt)
  const before = await books()
  const days = () => ({ media: 7, task: termDays, log: termDays })
  const live = new AbortController().signal
  const found = await previewSweep({ ...clearing, days }, live)
  expect(found.tasks).toBe(2)

  expect(await sweepRows({ ...clearing, days }, live)).toMatchObject({ tasks: 2 })
  const left = await query<{ table: string; others: number; keeper: number }>(
    `select name as table, count(*) filter (where account_id = $1) as others, count(*) filter (where account_id = $2) as keeper
       from (select 'video_tasks' as name, account_id from video_tasks
             union all select 'events and attempts', t.account_id from task_events e join task_attempts a using (day, task_id)
                                left join video_tasks t on t.day = a.day and t.id = a.task_id
             union all select 'media', account_id from media
             union all select 'transcription_tasks', account_id from transcription_tasks
             union all select 'segments', t.account_id from transcription_segments s left join transcription_tasks t on t.id = s.task_id
             union all select 'metered_requests', account_id from metered_requests) row group by name order by name`,
    [others.accountId, keeper.accountId],
  )
  // A completed task has two events.
  expect(left).toEqual([
    { table: 'events and attempts', others: 2, keeper: 4 },
    { table: 'media', others: 1, keeper: 2 },
    { table: 'metered_requests', others: 1, keeper: 2 },
    { table: 'segments', others: 1, keeper: 2 },
    { table: 'transcription_tasks', others: 1, keeper: 2 },
    { table: 'video_tasks', others: 1, keeper: 2 },
  ])
  expect(await query('select from task_attempts')).toHaveLength(3)
  expect(await query('select from file_removals')).toEqual([])
  expect(await findCharged(postgres, receipt)).toEqual(charged)
  expect(await books()).toEqual(before)
  await expectSound()
})

test('entries of the request log are deleted one by one before their month can be dropped', async () => {
  for (const days of [termDays + 1, termDays + 1, termDays - 1]) await loggedAt(daysAgo(days))
  expect(await dropped()).toEqual([])
  expect(await query('select from request_log')).toHaveLength(1)
})

test('events of accounts are deleted one by one by the retention of the request log', async () => {
  await query(
    `insert into account_events (day, account_id, type, object_id, data)
     select (now() at time zone 'utc')::date - days, $1, 'character.created', days::text, '{}'
       from unnest($2::integer[]) as days`,
    [owner.accountId, [termDays + 1, termDays, termDays - 1]],
  )
  await dropped()
  const left = await query<{ id: string }>('select object_id as id from account_events order by id')
  expect(left.map(({ id }) => Number(id))).toEqual([termDays - 1, termDays])
})

test('a month with open tasks is kept', async () => {
  const { postgres } = database
  const { middle, suffix } = await makeMonth(3)
  const task = await acceptedAt(postgres, owner, middle)
  const request = await meteredAt(middle, { isOpen: true })
  const { id, day } = await recordingAt(postgres, owner, middle)
  expect(await dropped()).toEqual([`request_log_${suffix}`])

  await endTask(postgres, task.id, failure)
  expect(await dropped()).toEqual([`task_events_${suffix}`, `video_tasks_${suffix}`])

  await query(`update metered_requests set lease_expires_at = now() - interval '1 second' where id = $1`, [
    request,
  ])
  expect(await meter.releaseAbandoned()).toBe(1)
  expect(await dropped()).toEqual([`metered_requests_${suffix}`])

  // Its event is in the default partition, because the month of events is dropped already.
  await finishTranscription(postgres, day, id, failure, middle)
  expect(await dropped()).toEqual(['task_events_default'])
  await clearRecordingKey(postgres, day, id)
  expect(await dropped()).toEqual([`transcription_tasks_${suffix}`])
  await expectSound()
})

test('a month with the source of an open remix is kept', async () => {
  const { postgres } = database
  const { middle, suffix } = await makeMonth(3)
  const source = await completedAt(middle)
  const remix = await acceptedAt(postgres, owner, daysAgo(0))
  await query('update open_tasks set source_task_id = $2 where task_id = $1', [remix.id, source.id])
  expect(await dropped()).not.toContain(`video_tasks_${suffix}`)
  await endTask(postgres, remix.id, failure)
  expect(await dropped()).toEqual([`video_tasks_${suffix}`])
})

test('the default partition is replaced when all of its rows are expired', async () => {
  const strays = () => query('select id from video_tasks_default')
  const [oldest, newest] = [await completedAt(daysAgo(100)), await completedAt(daysAgo(60))]
  expect(await dropped(80)).toEqual([])
  expect(await strays()).toEqual([{ id: newest.id }])
  expect(await dropped()).toEqual(['task_events_default', 'video_tasks_default'])
  expect(await strays()).toEqual([])

  // Later rows for such a day go to the new default partition.
  const later = await completedAt(daysAgo(100))
  expect(await strays()).toEqual([{ id: later.id }])
  expect([oldest.id, newest.id]).not.toContain(later.id)
  expect(await dropped()).toEqual(['task_events_default', 'video_tasks_default'])
  await expectSound()
})

test('a partition that a crashed process detached is dropped; one that an operator detached is not', async () => {
  const { suffix } = await makeMonth(3)
  await query(`alter table request_log detach partition request_log_${suffix}`)
  await query(`alter table request_log_${suffix} rename to request_log_${suffix}_expired`)
  await query(`alter table task_events detach partition task_events_${suffix}`)
  expect(await dropped()).toEqual(named(suffix).filter((name) => !name.startsWith('task_events')))
  expect(await isThere(`request_log_${suffix}_expired`)).toBe(false)
  expect(await isThere(`task_events_${suffix}`)).toBe(true)
})

test('a table in use is skipped', async () => {
  const { suffix } = await makeMonth(3)
  await database.postgres.transaction(async (inUse) => {
    await inUse.query('select from video_tasks limit 1')
    expect(await dropped()).toEqual(named(suffix).filter((name) => !name.startsWith('video_tasks')))
    expect(await isThere(`video_tasks_${suffix}`)).toBe(true)
  })
  expect(await dropped()).toEqual([`video_tasks_${suffix}`])
})
