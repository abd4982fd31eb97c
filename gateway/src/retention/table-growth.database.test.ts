/** Every table of the catalog has a class that limits it, and what is deleted is deleted by the code that does it in workers. */
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { createDatabase, type TestDatabase } from '../../test/kit/database.ts'
import { acceptedAt, clearingOf, daysAgo, recordingAt } from '../../test/kit/expired.ts'
import { createAccount, createKey, endTask } from '../../test/kit/factories.ts'
import { dispatchTick } from '../../test/kit/queue.ts'
import { uuidV7 } from '../platform/ids/uuid.ts'
import { deleteOldHealth } from '../routing/route-health-store.ts'
import { openStorage } from '../storage/open-storage.ts'
import {
  dropExpiredTranscripts,
  finishTranscription,
} from '../transcription-tasks/transcription-task-store.ts'
import { recordSubmitted } from '../videos/lifecycle/submit-store.ts'
import { partitionedTables } from './partition-store.ts'
import { sweepFiles, sweepJobs, sweepRows } from './sweep.ts'
import { tableGrowth, type DeletedTable } from './table-growth.ts'

let database: TestDatabase
let directory: Awaited<ReturnType<typeof mkdtempDisposable>>
let owner: { accountId: string; keyId: string }

beforeAll(async () => {
  database = await createDatabase()
  directory = await mkdtempDisposable(join(tmpdir(), 'kinora-growth-'))
  const accountId = await createAccount(database.postgres)
  owner = { accountId, keyId: (await createKey(database.postgres, accountId)).id }
})
afterAll(async () => {
  await database[Symbol.asyncDispose]()
  await directory.remove()
})

const query = async <Row extends Record<string, unknown>>(text: string, values: unknown[] = []) =>
  (await database.postgres.query<Row>(text, values)).rows

const isOf = (growthClass: string) =>
  Object.entries(tableGrowth).flatMap(([table, growth]) => (growth.class === growthClass ? table : []))

/** The tables of the schema without partitions, and the columns of their primary keys. */
const catalog = () =>
  query<{ table: string; isPartitioned: boolean; key: string[] | null }>(
    `select c.relname as table, c.relkind = 'p' as "isPartitioned",
            (select array_agg(a.attname::text order by array_position(i.indkey::smallint[], a.attnum))
               from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey)
              where i.indrelid = c.oid and i.indisprimary) as key
       from pg_class c
      where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
      order by c.relname`,
  )

test('every table has a class, and every class has its table', async () => {
  const tables = await catalog()
  expect(Object.keys(tableGrowth).toSorted()).toEqual(tables.map(({ table }) => table))
})

test('a partitioned table has a retention or is archived', async () => {
  const partitioned = (await catalog()).flatMap(({ table, isPartitioned }) => (isPartitioned ? table : []))
  expect([...partitionedTables, 'ledger_entries', 'usage_entries'].toSorted()).toEqual(partitioned)
})

test('a bounded table has the primary key that bounds it', async () => {
  const keys = new Map((await catalog()).map(({ table, key }) => [table, key]))
  for (const table of isOf('bounded')) {
    expect({ table, class: 'bounded', by: keys.get(table) }).toEqual({ table, ...tableGrowth[table] })
  }
})

const live = new AbortController().signal
const sweeping = async () => {
  const { mediaStore } = await openStorage({ MEDIA_DIRECTORY: directory.path })
  return clearingOf({ database, mediaStore })
}
const sweepAll = async () => {
  await sweepRows(await sweeping(), live)
}
/** A task that is accepted, with its job if a provider has it. */
const accept = async (job?: string) => {
  const task = await acceptedAt(database.postgres, owner, daysAgo(0))
  if (job === undefined) return task
  await dispatchTick(database.postgres)
  await recordSubmitted(database.postgres, [
    { taskId: task.id, provider: 'vendor', upstream: { id: job }, firstPollMs: 1_000 },
  ])
  return task
}
const end = (taskId: string) =>
  endTask(database.postgres, taskId, { kind: 'failed', code: 'upstream_error', message: '' })
const transcribe = async (expiresAt: Date) => {
  const { id, day } = await recordingAt(database.postgres, owner, daysAgo(0))
  await query('insert into transcription_segments (task_id, n, start_ms, end_ms) values ($1, 0, 0, 1000)', [
    id,
  ])
  await finishTranscription(database.postgres, day, id, { kind: 'completed' }, expiresAt)
}

interface Deletion {
  /** Leaves rows in the table that must go and, if it can, one that must stay. */
  fill: () => Promise<unknown>
  remove: () => Promise<unknown>
  /** Rows that must stay. */
  staying?: number
}

const deletions: Record<DeletedTable, Deletion> = {
  claimed_jobs: {
    fill: async () => {
      const ended = [await accept('one'), await accept('two')]
      const open = await accept('three')
      for (const { id } of ended) await end(id)
      await query(`update claimed_jobs set claimed_at = now() - interval '31 days' where task_id = any($1)`, [
        [ended[0]?.id, open.id],
      ])
    },
    remove: sweepAll,
    staying: 2,
  },
  console_links: {
    fill: async () => {
      for (const age of ['-1 minute', '1 minute'])
        await query(
          `insert into console_links (hash, key_id, key_hash, expires_at)
           values (sha256($2::text::bytea), $1, '', now() + $2::text::interval)`,
          [owner.keyId, age],
        )
    },
    remove: sweepAll,
    staying: 1,
  },
  console_sessions: {
    fill: async () => {
      for (const [used, expiry] of [
        ['0 minutes', '1 day'],
        ['0 minutes', '-1 minute'],
        ['13 hours', '1 day'],
      ])
        await query(
          `insert into console_sessions (hash, key_id, key_hash, last_used_at, expires_at, address)
           values (sha256(($2 || $3)::text::bytea), $1, '', now() - $2::text::interval, now() + $3::text::interval, '')`,
          [owner.keyId, used, expiry],
        )
    },
    remove: sweepAll,
    staying: 1,
  },
  characters: {
    fill: async () => {
      const { id } = await accept()
      for (const [username, taskId] of [
        ['of_the_library', null],
        ['of_a_task', id],
      ]) {
        const clip = uuidV7()
        await query(
          `insert into media (id, account_id, task_id, kind, storage_key, content_type, size_bytes, sha256, created_at)
           values ($1, $2, $3, 'clip', $4, 'video/mp4', 0, '', now())`,
          [clip, owner.accountId, id, `characters/${clip}`],
        )
        await query(
          `insert into characters (id, account_id, username, source, clip_media_id, portrait_media_id, task_id, created_at)
           values (gen_random_uuid(), $1, $2, $2, $3, $3, $4, now() - interval '3 days')`,
          [owner.accountId, username, clip, taskId],
        )
      }
      await end(id)
    },
    remove: sweepAll,
    staying: 1,
  },
  deleted_characters: {
    fill: () =>
      query(
        `insert into deleted_characters (id, account_id, created_at, deleted_at)
         select gen_random_uuid(), $1, now(), now() - make_interval(days => days) from unnest(array[29, 31]) as days`,
        [owner.accountId],
      ),
    remove: sweepAll,
    staying: 1,
  },
  file_removals: {
    fill: () =>
      query(
        `insert into file_removals (storage_key, account_id, next_try_at)
         select 'videos/' || minutes, $1, now() - make_interval(mins => minutes) from unnest(array[-1, 1]) as minutes`,
        [owner.accountId],
      ),
    remove: async () => {
      await sweepFiles(await sweeping(), live)
    },
    staying: 1,
  },
  idempotency_keys: {
    fill: () =>
      query(
        `insert into idempotency_keys (account_id, name, operation, fingerprint, expires_at)
         select $1, sha256(days::text::bytea), '', '', now() - make_interval(days => days) from unnest(array[-1, 1]) as days`,
        [owner.accountId],
      ),
    remove: sweepAll,
    staying: 1,
  },
  keys: {
    fill: async () => {
      for (const [name, changes] of [
        ['deleted long ago', `deleted_at = now() - interval '31 days'`],
        ['deleted', `deleted_at = now() - interval '29 days'`],
        ['old secret', `is_old_secret = true, expires_at = now() - interval '31 days'`],
        ['expired', `expires_at = now() - interval '31 days'`],
      ]) {
        const { id } = await createKey(database.postgres, owner.accountId)
        await query(`update keys set name = '${name}', ${changes} where id = $1`, [id])
        await query(`insert into key_quotas (key_id, quota_micros) values ($1, 1)`, [id])
        await query(`insert into key_budgets (key_id, period, limit_micros) values ($1, 'day', 1)`, [id])
      }
      owner.keyId = (await createKey(database.postgres, owner.accountId)).id
      await accept()
      await query(`update keys set deleted_at = now() - interval '31 days' where id = $1`, [owner.keyId])
    },
    remove: sweepAll,
    // A deleted one within the retention, one that only expired, and the one with an open task.
    staying: 3,
  },
  // No vendor answers at the address of the sweep.
  job_removals: {
    fill: () =>
      query(
        `insert into job_removals (provider, upstream, task_id, account_id, requested_at)
         select 'vendor', '{}', '', $1, now() - make_interval(days => days) from unnest(array[29, 31]) as days`,
        [owner.accountId],
      ),
    remove: async () => {
      await sweepJobs(await sweeping(), live)
    },
    staying: 1,
  },
  media: {
    fill: () =>
      query(
        `insert into media (id, account_id, task_id, kind, storage_key, content_type, size_bytes, sha256, created_at, removed_at)
         select gen_random_uuid(), $1, '', 'video', days::text, 'video/mp4', 0, '', now() - make_interval(days => days), now()
           from unnest(array[29, 31]) as days`,
        [owner.accountId],
      ),
    remove: sweepAll,
    staying: 1,
  },
  open_tasks: {
    fill: () => accept(),
    remove: async () => {
      for (const { id } of await query<{ id: string }>('select task_id as id from open_tasks')) await end(id)
    },
  },
  open_transcriptions: {
    fill: () => recordingAt(database.postgres, owner, daysAgo(0)),
    remove: async () => {
      const open = await query<{ id: string; day: string }>(
        'select task_id as id, day from open_transcriptions',
      )
      for (const { id, day } of open)
        await finishTranscription(database.postgres, day, id, { kind: 'completed' }, daysAgo(-1))
    },
  },
  queue_shares: {
    fill: async () => {
      await query(
        `insert into queue_shares values ('vendor', $1, 0, 1), ('vendor', gen_random_uuid(), 0, 2)`,
        [owner.accountId],
      )
      await query(`insert into queue_shares values ('vendor', gen_random_uuid(), 3, 7)`)
    },
    // Its start is later than the end of the others.
    remove: async () => {
      await accept()
      await dispatchTick(database.postgres)
    },
    // The two shares of the new task, of its account and of its key, and the one that has not passed.
    staying: 3,
  },
  retention_changes: {
    fill: async () => {
      const other = await createAccount(database.postgres)
      await query('update accounts set media_retention_days = 3 where id = any($1)', [
        [owner.accountId, other],
      ])
      await query(
        `update retention_changes set changed_at = changed_at - interval '1 hour' where account_id = $1`,
        [other],
      )
    },
    remove: sweepAll,
    staying: 1,
  },
  route_health: {
    fill: () =>
      query(
        `insert into route_health (provider, model, open_until, reason)
         select 'vendor', days::text, now() - make_interval(days => days), '' from unnest(array[0, 2]) as days`,
      ),
    remove: () => deleteOldHealth(database.postgres),
    staying: 1,
  },
  service_days: {
    fill: () =>
      query(
        `insert into service_days (kind, day, observed_seconds, degraded_seconds, down_seconds)
         select 'video', (now() at time zone 'utc')::date - days, 1, 0, 0 from unnest(array[89, 90]) as days`,
      ),
    remove: sweepAll,
    staying: 1,
  },
  tasks_in_flight: {
    fill: async () => {
      await query('truncate open_tasks')
      const { id } = await accept('four')
      await end(id)
    },
    remove: async () => {
      const { id: keyId } = await createKey(database.postgres, owner.accountId)
      await acceptedAt(database.postgres, { ...owner, keyId }, daysAgo(0))
      await dispatchTick(database.postgres)
    },
    // The count of the key that has a task in flight.
    staying: 1,
  },
  ticks: {
    fill: () =>
      query(
        `insert into ticks (loop, key, id, ticked_at)
         select 'dispatchVideos', 'vendor', hours::text, now() - make_interval(hours => hours) from unnest(array[0, 2]) as hours`,
      ),
    remove: sweepAll,
    staying: 1,
  },
  transcription_segments: {
    fill: async () => {
      await transcribe(daysAgo(1))
      await transcribe(daysAgo(-1))
    },
    remove: () => dropExpiredTranscripts(database.postgres, 10),
    staying: 1,
  },
  webhook_endpoints: {
    // The last one has a pending delivery.
    fill: () =>
      query(
        `with added as (
           insert into webhook_endpoints (id, account_id, kind, url, events, used_at)
           select gen_random_uuid(), $1, 'task', 'https://example.com:' || days, '{}', now() - make_interval(days => days)
             from unnest(array[29, 31, 32]) as days
           returning id, account_id, url
         )
         insert into webhook_deliveries (day, id, account_id, endpoint_id, event_id, type, object_id, occurred_at, next_attempt_at)
         select current_date, gen_random_uuid(), account_id, id, 'evt_1', 'video.failed', 'task', now(), now()
           from added where url like '%:32'`,
        [owner.accountId],
      ),
    remove: sweepAll,
    staying: 2,
  },
  webhook_receipts: {
    fill: () =>
      query(
        `insert into webhook_receipts (provider, id, received_at)
         select 'vendor', hours::text, now() - make_interval(hours => hours) from unnest(array[23, 25]) as hours`,
      ),
    remove: sweepAll,
    staying: 1,
  },
}

const countOf = async (table: string) => {
  const [row] = await query<{ count: number }>(`select count(*) from ${table}`)
  return row?.count ?? 0
}

test.for(Object.entries(deletions))(
  'rows of %s are deleted in time',
  async ([table, { fill, remove, staying = 0 }]) => {
    await query(`truncate ${table} cascade`)
    await fill()
    const before = await countOf(table)
    expect(before).toBeGreaterThan(0)
    await remove()
    expect(await countOf(table)).toBe(staying)
  },
)
