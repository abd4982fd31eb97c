/** Closed years move to files, and the ledger stays sound by opening balances. */
import { mkdtempDisposable, readdir, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'

import { afterEach, beforeEach, expect, test } from 'vitest'

import { createDatabase, type TestDatabase } from '../../test/kit/database.ts'
import { acceptedAt } from '../../test/kit/expired.ts'
import { createAccount, createKey, endTask } from '../../test/kit/factories.ts'
import { brokenInvariants } from '../../test/kit/ledger.ts'
import { runIncrementalAudit } from '../billing/ledger/audit-ledger.ts'
import { postMovements } from '../billing/ledger/ledger-store.ts'
import { insertAccountMovement } from '../billing/ledger/movement-store.ts'
import { insertRefund } from '../billing/ledger/refund-store.ts'
import { setKeyLimits } from '../billing/spending/spending-store.ts'
import { uuidV7 } from '../platform/ids/uuid.ts'
import { insertStoredFiles } from '../storage/stored-file-store.ts'
import { previewArchive, takeArchive } from './take-archive.ts'

const year = new Date().getUTCFullYear()
const inLastYear = new Date(Date.UTC(year - 1, 10, 20, 12))
const inDefaultPartition = new Date(Date.UTC(year - 2, 5, 20, 12))

let database: TestDatabase
let directory: Awaited<ReturnType<typeof mkdtempDisposable>>
let owner: { accountId: string; keyId: string }

const query = async <Row extends Record<string, unknown>>(text: string, values: unknown[] = []) =>
  (await database.postgres.query<Row>(text, values)).rows

/** A task that was completed on the day of its creation; with `isKept`, its row still exists. */
const completedAt = async (at: Date, { isKept = false }: { isKept?: boolean } = {}) => {
  const { postgres } = database
  const task = await acceptedAt(postgres, owner, at)
  const mediaId = uuidV7()
  await insertStoredFiles(postgres, [
    {
      ...{ id: mediaId, accountId: owner.accountId, taskId: task.id, kind: 'video', storageKey: mediaId },
      ...{ contentType: 'video/mp4', sizeBytes: 1, sha256: '00', width: 1, height: 1, durationMs: 1 },
      expiresAt: at,
    },
  ])
  await endTask(postgres, task.id, { kind: 'completed', mediaId })
  await query('update ledger_entries set created_at = $2 where task_id = $1', [task.id, at])
  await query('update usage_entries set day = $2, ended_at = $3 where id = $1', [task.id, task.day, at])
  if (!isKept) await query('delete from video_tasks where id = $1', [task.id])
  return task
}

const movedAt = async (
  at: Date,
  kind: 'top_up' | 'refund',
  amountMicros: number,
  task?: { id: string; day: string },
) => {
  const { postgres } = database
  const id = `mov_${uuidV7(at.getTime())}`
  const day = at.toISOString().slice(0, 10)
  const movement = { accountId: owner.accountId, wallet: 'payg' as const, kind, amountMicros }
  await insertAccountMovement(postgres, {
    ...{ ...movement, id, actor: 'test', reason: 'planted', reference: `planted ${id}`, createdAt: at },
  })
  if (task !== undefined)
    await insertRefund(postgres, { id, day, taskId: task.id, taskDay: task.day, usageDay: task.day })
  await postMovements(
    postgres,
    [{ ...movement, kind, taskId: id, day, ...(task && { keyId: owner.keyId }) }],
    {
      at: at.toISOString(),
      ...(task && { heldSince: new Map([[id, inLastYear.toISOString()]]) }),
    },
  )
}

beforeEach(async () => {
  database = await createDatabase()
  directory = await mkdtempDisposable(join(tmpdir(), 'kinora-archive-'))
  const { postgres } = database
  const accountId = await createAccount(postgres)
  owner = { accountId, keyId: (await createKey(postgres, accountId)).id }
  await setKeyLimits(postgres, owner.keyId, { quotaMicros: 1_000_000_000 })
  await query(`update key_quotas set counted_from = '2000-01-01'`)
  for (const table of ['ledger_entries', 'usage_entries']) {
    await query(
      `create table ${table}_${year - 1}_11 partition of ${table} for values from ('${year - 1}-11-01') to ('${year - 1}-12-01')`,
    )
  }
  const refunded = await completedAt(inLastYear)
  await completedAt(inDefaultPartition)
  await movedAt(inLastYear, 'top_up', 5_000_000)
  await movedAt(inLastYear, 'refund', 100_000, refunded)
  // A task of the closed year, refunded in this one.
  await movedAt(new Date(), 'refund', 100_000, refunded)
  await completedAt(new Date(), { isKept: true })
  expect(await brokenInvariants(postgres)).toEqual([])
})
afterEach(async () => {
  await database[Symbol.asyncDispose]()
  await directory.remove()
})

const dependencies = () => ({
  postgres: database.postgres,
  signal: new AbortController().signal,
  onProgress: () => undefined,
})
const archive = () => takeArchive(dependencies(), { year, directory: directory.path, version: '0.0.0' })

const closedRows = async () => {
  const tables = ['ledger_entries', 'usage_entries', 'refunds'].map(
    (table) => `select '${table}' as table, to_jsonb(t) as row from ${table} t where day < '${year}-01-01'`,
  )
  const movements = `select 'account_movements', to_jsonb(t) - 'reason' - 'reference' from account_movements t where created_at < '${year}-01-01'`
  const rows = await query<{ table: string; row: object }>(
    `select * from (${[...tables, movements].join(' union all ')}) closed (name, row) order by name, row`,
  )
  return rows
}
const balances = () => query('select available_micros, held_micros, spent_micros from balances')

test('the files contain every row of the closed years without the texts of operators, and the ledger stays sound without them', async () => {
  const [closed, before] = [await closedRows(), await balances()]
  expect(new Set(closed.map((row) => (row as unknown as { name: string }).name)).size).toBe(4)
  const { path, manifest, dropped } = await archive()
  expect(dropped).toEqual([`ledger_entries_${year - 1}_11`, `usage_entries_${year - 1}_11`])
  expect(await closedRows()).toEqual([])
  expect(await balances()).toEqual(before)
  // Statements add the sums by month to the rows that are left.
  expect(
    await query(
      'select sum(balance_micros)::bigint as balance, sum(held_micros)::bigint as held from statement_sums',
    ),
  ).toEqual(
    await query(
      'select sum(available_micros + held_micros)::bigint as balance, sum(held_micros)::bigint as held from opening_balances',
    ),
  )
  expect(await query('select has_statement_sums from ledger_archives')).toEqual([
    { has_statement_sums: true },
  ])
  expect(await brokenInvariants(database.postgres)).toEqual([])

  expect((await readdir(path)).toSorted()).toEqual(
    [...manifest.files.map(({ file }) => file), 'manifest.json'].toSorted(),
  )
  const read = await Promise.all(
    manifest.files.map(async ({ table, file }) => {
      const text = gunzipSync(await readFile(join(path, file))).toString()
      return text
        .split('\n')
        .flatMap((line) => (line === '' ? [] : { name: table, row: JSON.parse(line) as object }))
    }),
  )
  const byText = (rows: unknown[]) => rows.map((row) => JSON.stringify(row)).toSorted()
  expect(byText(read.flat())).toEqual(byText(closed))

  // The service goes on: money moves, and both audits add it to the opening balances.
  await completedAt(new Date(), { isKept: true })
  expect(await brokenInvariants(database.postgres)).toEqual([])
  expect(
    (await runIncrementalAudit(database.postgres)).findings.every(({ violations }) => violations === 0),
  ).toBe(true)
})

test('a preview changes nothing, and an archive is made once', async () => {
  const closed = await closedRows()
  const { sources, problems } = await previewArchive(database.postgres, year)
  expect(problems).toEqual([])
  expect(sources.reduce((sum, { digest }) => sum + digest.rows, 0)).toBe(closed.length)
  expect(await closedRows()).toEqual(closed)
  await archive()
  await expect(archive()).rejects.toThrow(`Everything before ${year}-01-01 is archived already.`)
})

test('a year that has not ended, or whose tasks still exist, is not archived', async () => {
  await completedAt(inLastYear, { isKept: true })
  await expect(archive()).rejects.toThrow(`1 tasks and requests from before ${year}-01-01 still exist`)
  const { problems } = await previewArchive(database.postgres, year + 1)
  expect(problems).toContain(`The year before ${year + 1}-01-01 has not ended.`)
})

test('nothing is removed if the removal fails, and it can be repeated', async () => {
  const closed = await closedRows()
  await query(
    `create function fail() returns trigger language plpgsql as $$ begin raise exception 'failed'; end $$`,
  )
  await query('create trigger failing before delete on refunds for each row execute function fail()')
  await expect(archive()).rejects.toThrow('failed')
  expect(await closedRows()).toEqual(closed)
  expect(await query('select from opening_balances')).toEqual([])
  await query('drop function fail cascade')
  await archive()
  expect(await brokenInvariants(database.postgres)).toEqual([])
})

test('the audit finds a changed opening balance', async () => {
  await archive()
  await query('update opening_balances set available_micros = available_micros + 1')
  expect(await brokenInvariants(database.postgres)).toEqual([
    expect.stringContaining('balances_match_legs'),
    expect.stringContaining('openings_match_archives'),
  ])
})

test('an archive can be read back into a table', async () => {
  const closed = await closedRows()
  const { path } = await archive()
  const text = gunzipSync(await readFile(join(path, `ledger_entries_${year - 1}_11.jsonl.gz`))).toString()
  await query('create table restored (like ledger_entries)')
  await query(
    'insert into restored select entry.* from unnest($1::text[]) as line, jsonb_populate_record(null::restored, line::jsonb) as entry',
    [text.trimEnd().split('\n')],
  )
  const restored = await query<{ row: object }>('select to_jsonb(t) as row from restored t order by id')
  const original = (closed as unknown as { name: string; row: { day: string; id: number } }[]).flatMap(
    ({ name, row }) => (name === 'ledger_entries' && row.day.startsWith(String(year - 1)) ? row : []),
  )
  expect(restored.map(({ row }) => row)).toEqual(original.toSorted((one, other) => one.id - other.id))
})
