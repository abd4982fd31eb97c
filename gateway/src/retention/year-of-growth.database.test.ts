/**
 * Months of tasks and requests on a database whose clock is advanced. Every table levels off, except those that are kept until
 * closed years are archived. `npm run prove:growth` runs it with more months and tasks, and prints a table.
 */
import { createHash, randomUUID } from 'node:crypto'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { createEmptyDatabase } from '../../test/kit/database.ts'
import { acceptedAt, clearingOf, recordingAt } from '../../test/kit/expired.ts'
import { createAccount, createKey, endTask } from '../../test/kit/factories.ts'
import { brokenInvariants } from '../../test/kit/ledger.ts'
import { dispatchTick } from '../../test/kit/queue.ts'
import { minutes } from '../../test/kit/time-limits.ts'
import { takeArchive } from '../archive/take-archive.ts'
import { createMeter, type Meter } from '../billing/metering/meter.ts'
import { priceOf } from '../billing/prices/price.ts'
import { claimKey, storeResponses } from '../idempotency/idempotency-store.ts'
import { uuidV7 } from '../platform/ids/uuid.ts'
import { createLog } from '../platform/log.ts'
import { ensurePartitions, migrate } from '../platform/migrate.ts'
import { connectPostgres, type Postgres } from '../platform/postgres.ts'
import { insertRequests } from '../request-log/request-log-store.ts'
import { openStorage } from '../storage/open-storage.ts'
import { insertStoredFiles } from '../storage/stored-file-store.ts'
import { markProcessing } from '../tasks/task-store.ts'
import {
  clearRecordingKey,
  dropExpiredTranscripts,
  finishTranscription,
} from '../transcription-tasks/transcription-task-store.ts'
import { recordSubmitted } from '../videos/lifecycle/submit-store.ts'
import { recordAttempts } from '../videos/task-attempt-store.ts'
import { videoTables } from '../videos/task.ts'
import { recordReceipt } from '../webhooks/inbound/webhook-receipt-store.ts'
import { sweepJobs, sweepMedia, sweepRows } from './sweep.ts'
import { tableGrowth } from './table-growth.ts'

const isLong = process.env['GROWTH_MONTHS'] !== undefined
const months = Number(process.env['GROWTH_MONTHS'] ?? 6)
const tasksPerWeek = Number(process.env['GROWTH_TASKS_PER_WEEK'] ?? 1)
const weeksPerMonth = 4
const dayMs = 86_400_000
/** Every month has as many tasks, and all months that are kept have ended by then. */
const levelMonth = 4
const tolerance = 1.3

const live = new AbortController().signal

/**
 * A database in which `now()` and `clock_timestamp()` return another time: the schema of the service has functions of these
 * names, and is searched before that of PostgreSQL.
 */
const createShiftedDatabase = async () => {
  const empty = await createEmptyDatabase()
  const name = new URL(empty.url).pathname.slice(1)
  await empty.postgres.query('create schema shifted')
  await empty.postgres.query('create table public.shift (by interval not null)')
  await empty.postgres.query(`insert into public.shift values ('0')`)
  for (const clock of ['now', 'clock_timestamp']) {
    await empty.postgres.query(
      `create function shifted.${clock}() returns timestamptz language sql stable
         as 'select pg_catalog.${clock}() + (select by from public.shift)'`,
    )
  }
  await empty.postgres.query(`alter database ${name} set search_path to shifted, pg_catalog`)
  const postgres = connectPostgres(
    { url: empty.url, connectionsMax: 4 },
    createLog({ level: 'silent' }, 'test'),
  )
  return {
    postgres,
    moveTo: (at: Date) =>
      postgres.query('update public.shift set by = $1::timestamptz - pg_catalog.now()', [at]),
    [Symbol.asyncDispose]: async () => {
      await postgres.close()
      await empty[Symbol.asyncDispose]()
    },
  }
}

interface Owner {
  accountId: string
  keyId: string
}

const file = (owner: Owner, taskId: string, expiresAt: Date) => {
  const id = uuidV7()
  return {
    ...{ id, accountId: owner.accountId, taskId, kind: 'video' as const, storageKey: `videos/${id}.mp4` },
    ...{
      contentType: 'video/mp4',
      sizeBytes: 1_000_000,
      sha256: '00',
      width: 480,
      height: 480,
      durationMs: 4_000,
    },
    expiresAt,
  }
}

/** A video from its request to its end, a webhook of its provider, and a status read. */
const makeVideo = async (postgres: Postgres, owner: Owner, at: Date) => {
  const claim = { accountId: owner.accountId, name: Buffer.from(randomUUID()), claim: randomUUID() }
  await claimKey(postgres, {
    ...{ ...claim, operation: 'createVideo', fingerprint: createHash('sha256').digest(), retry: undefined },
  })
  const { id, day } = await acceptedAt(postgres, owner, at)
  await storeResponses(postgres, [
    { ...claim, status: 200, headers: {}, body: null, bodyKind: null, taskId: id },
  ])
  await dispatchTick(postgres)
  const job = { id: randomUUID() }
  await recordAttempts(postgres, [
    {
      ...{
        taskId: id,
        day,
        provider: 'vendor',
        upstreamModel: 'm',
        decision: null,
        startedAt: at,
        outcome: 'accepted',
      },
      ...{ isDuplicate: false, exchanges: [], failureReason: null },
    },
  ])
  await recordSubmitted(postgres, [{ taskId: id, provider: 'vendor', upstream: job, firstPollMs: 1_000 }])
  await markProcessing(postgres, videoTables, [{ day, id }])
  await recordReceipt(postgres, { provider: 'vendor', taskId: id, id: randomUUID() })
  const video = file(owner, id, new Date(at.getTime() + 7 * dayMs))
  await insertStoredFiles(postgres, [video])
  await endTask(postgres, id, { kind: 'completed', mediaId: video.id })
  await insertRequests(postgres, [
    {
      ...{
        id: `req_${uuidV7(at.getTime())}`,
        at,
        ...owner,
        operation: 'getVideo',
        method: 'GET',
        status: 200,
      },
      ...{ path: `/v1/videos/${id}`, errorCode: null, model: 'vidB-2', provider: null, taskId: id },
      ...{ durationMs: 1, address: '127.0.0.1', userAgent: 'test' },
    },
  ])
}

const speak = async (meter: Meter, owner: Owner, at: Date) => {
  const heldFor = [priceOf('million_characters', 1_000_000, 10)]
  const { settle } = await meter.open({
    caller: {
      ...{ ...owner, kind: 'payg', scopes: [], models: undefined, addresses: undefined, limits: {} },
      ...{ requestsPerMinute: undefined, dialect: 'reference', hasQuota: false, currency: 'USD' },
    },
    ...{ requestId: `req_${uuidV7(at.getTime())}`, operation: 'createSpeech', model: { id: 'm', name: 'm' } },
    ...{ provider: 'p', heldFor },
  })
  await settle('completed', heldFor)
}

const transcribe = async (postgres: Postgres, owner: Owner, at: Date) => {
  const { id, day } = await recordingAt(postgres, owner, at)
  await postgres.query(
    'insert into transcription_segments (task_id, n, start_ms, end_ms) values ($1, 0, 0, 1000)',
    [id],
  )
  await finishTranscription(postgres, day, id, { kind: 'completed' }, new Date(at.getTime() + 7 * dayMs))
  await clearRecordingKey(postgres, day, id)
}

type Sizes = Map<string, { rows: number; bytes: number }>

const measure = async (postgres: Postgres): Promise<Sizes> => {
  // The sizes do not matter otherwise.
  if (isLong) await postgres.query('vacuum')
  const sizes: Sizes = new Map()
  for (const table of Object.keys(tableGrowth).toSorted()) {
    const { rows } = await postgres.query<{ rows: number; bytes: number }>(
      `select (select count(*) from ${table}) as rows,
              pg_total_relation_size('${table}')
                + (select coalesce(sum(pg_total_relation_size(inhrelid)), 0)::bigint
                     from pg_inherits where inhparent = '${table}'::regclass) as bytes`,
    )
    if (rows[0] !== undefined) sizes.set(table, rows[0])
  }
  return sizes
}

const printSizes = (labels: string[], measured: Sizes[]) => {
  const cells = (table: string) =>
    measured.map((sizes) => {
      const { rows = 0, bytes = 0 } = sizes.get(table) ?? {}
      return `${rows} (${Math.round(bytes / 1024)})`
    })
  const tables = Object.keys(tableGrowth)
    .toSorted()
    .filter((table) => measured.some((sizes) => (sizes.get(table)?.rows ?? 0) > 0))
  const lines = [
    `| table | ${labels.join(' | ')} |`,
    `|---|${labels.map(() => '---|').join('')}`,
    ...tables.map((table) => `| \`${table}\` | ${cells(table).join(' | ')} |`),
  ]
  process.stdout.write(`rows (KiB) at the end of each month\n${lines.join('\n')}\n`)
}

test(
  'with as many tasks every month, every table levels off, and an archive empties the closed year',
  { timeout: minutes(isLong ? 60 : 2) },
  async () => {
    await using database = await createShiftedDatabase()
    await using directory = await mkdtempDisposable(join(tmpdir(), 'kinora-growth-'))
    const { postgres, moveTo } = database
    // The last month is the first of a year, so that the year before is closed.
    const firstYear = new Date().getUTCFullYear() + 2
    const startOf = (month: number) => Date.UTC(firstYear, month - months + 1)
    await moveTo(new Date(startOf(0)))
    await migrate(postgres)
    const accountId = await createAccount(postgres, { balance: 1_000_000 })
    const owner = { accountId, keyId: (await createKey(postgres, accountId)).id }
    // Keeps what it makes in the first month for ever, and nothing of others.
    const keeperId = await createAccount(postgres, { balance: 1_000_000 })
    const keeper = { accountId: keeperId, keyId: (await createKey(postgres, keeperId)).id }
    await postgres.query('update accounts set task_retention_days = 36500 where id = $1', [keeperId])
    await using meter = Object.assign(
      createMeter({ postgres, log: createLog({ level: 'silent' }, 'test') }),
      {
        [Symbol.asyncDispose]: () => meter.close(),
      },
    )
    const { mediaStore } = await openStorage({ MEDIA_DIRECTORY: directory.path })
    const sweeping = clearingOf({ database: { postgres }, mediaStore })
    const measured: Sizes[] = []
    for (let month = 0; month < months; month += 1) {
      for (let week = 0; week < weeksPerMonth; week += 1) {
        const at = new Date(startOf(month) + (1 + week * 7) * dayMs)
        await moveTo(at)
        await ensurePartitions(postgres)
        if (month === 0 && week === 0) {
          await makeVideo(postgres, keeper, at)
          await speak(meter, keeper, at)
          await transcribe(postgres, keeper, at)
        }
        for (let task = 0; task < tasksPerWeek; task += 1) {
          await makeVideo(postgres, owner, at)
          await speak(meter, owner, at)
          await transcribe(postgres, owner, at)
        }
        await sweepRows(sweeping, live)
        await sweepMedia(sweeping, live)
        await sweepJobs(sweeping, live)
        await dropExpiredTranscripts(postgres, 10_000)
      }
      await moveTo(new Date(startOf(month + 1) - dayMs / 2))
      await sweepRows(sweeping, live)
      await sweepMedia(sweeping, live)
      await sweepJobs(sweeping, live)
      await dropExpiredTranscripts(postgres, 10_000)
      measured.push(await measure(postgres))
    }
    // The tasks of the closed year are gone once their retention is over.
    await moveTo(new Date(startOf(months + 1)))
    await sweepRows(sweeping, live)
    const kept = await measure(postgres)
    // A closed year is archived without tasks.
    await postgres.query('update accounts set task_retention_days = null')
    await sweepRows(sweeping, live)
    await takeArchive(
      { postgres, signal: live, onProgress: () => undefined },
      { year: firstYear, directory: join(directory.path, 'archive'), version: '0.0.0' },
    )
    const archived = await measure(postgres)
    if (isLong)
      printSizes([...measured.map((_, index) => String(index + 1)), 'archived'], [...measured, archived])

    const rowsIn = (sizes: Sizes | undefined, table: string) => sizes?.get(table)?.rows ?? 0
    const growing = Object.keys(tableGrowth).filter((table) => {
      const level = Math.max(
        ...measured.slice(levelMonth - 2, levelMonth).map((sizes) => rowsIn(sizes, table)),
      )
      return rowsIn(measured.at(-1), table) > level * tolerance
    })
    expect(growing.toSorted()).toEqual(['ledger_entries', 'usage_entries'])
    // Of the ledger, only the last month is left: 4 entries of each video, 4 of each speech, and a usage entry of each work.
    const inLastMonth = tasksPerWeek * weeksPerMonth
    // What one account keeps does not keep anything of the other.
    for (const table of [
      'video_tasks',
      'transcription_tasks',
      'metered_requests',
      'media',
      'task_attempts',
    ]) {
      expect({ table, rows: rowsIn(kept, table) }).toEqual({ table, rows: 1 })
      expect({ table, rows: rowsIn(archived, table) }).toEqual({ table, rows: 0 })
    }
    expect(rowsIn(archived, 'ledger_entries')).toBe(8 * inLastMonth)
    expect(rowsIn(archived, 'usage_entries')).toBe(3 * inLastMonth)
    expect(await brokenInvariants(postgres)).toEqual([])
  },
)
