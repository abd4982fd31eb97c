/** Receipts of ended tasks are found in the partition of their month. */
import { afterAll, beforeAll, expect, test } from 'vitest'

import { createDatabase, type TestDatabase } from '../../../test/kit/database.ts'
import { acceptedAt, daysAgo } from '../../../test/kit/expired.ts'
import { createAccount, createKey, endTask } from '../../../test/kit/factories.ts'
import { createUuidTaskId } from '../../videos/task-id.ts'
import { findCharged, findUsage } from './receipt-store.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database[Symbol.asyncDispose]())

const query = async <Row extends Record<string, unknown>>(text: string, values: unknown[] = []) =>
  (await database.postgres.query<Row>(text, values)).rows

const endedTask = async (createdAt: Date) => {
  const accountId = await createAccount(database.postgres)
  const keyId = (await createKey(database.postgres, accountId)).id
  const task = await acceptedAt(database.postgres, { accountId, keyId }, createdAt)
  await endTask(database.postgres, task.id, { kind: 'failed', code: 'upstream_error', message: '' })
  await query('delete from video_tasks where id = $1', [task.id])
  return { ...task, accountId }
}

/** The partitions that the plan of a statement with these values reads. */
const partitionsRead = async (statement: { text: string; values: unknown[] }) => {
  const rows = await query<{ 'QUERY PLAN': string }>(`explain ${statement.text}`, statement.values)
  return rows.flatMap((row) => /usage_entries_\w+/.exec(row['QUERY PLAN'])?.[0] ?? [])
}

/** Executes `read` and returns the partitions of the usage entries that its last statement reads. */
const partitionsReadBy = async (read: (postgres: typeof database.postgres) => Promise<unknown>) => {
  const statements: { text: string; values: unknown[] }[] = []
  await read({
    query: (text: string, values: unknown[] = []) => {
      statements.push({ text, values })
      return database.postgres.query(text, values)
    },
  } as typeof database.postgres)
  const last = statements.at(-1)
  return last && partitionsRead(last)
}

// In the middle of a month, so that it does not end in the next one.
const middleOfMonth = () => {
  const now = new Date()
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 14))
}

test('the receipt of a deleted task is read from one partition of the usage entries', async () => {
  const { id, day, accountId } = await endedTask(daysAgo(70))
  const endedAt = middleOfMonth()
  await query('update usage_entries set day = $2 where id = $1', [id, endedAt])
  await query('update ledger_entries set created_at = $2 where task_id = $1', [id, endedAt])
  const partitions = await partitionsReadBy(async (recording) =>
    expect(await findUsage(recording, { id, day, accountId })).toMatchObject({
      accountId,
      usageDay: endedAt.toISOString().slice(0, 10),
    }),
  )
  expect(partitions).toHaveLength(1)
})

test('an id that no task has is looked for in the days that it contains, not in other months', async () => {
  const day = middleOfMonth().toISOString().slice(0, 10)
  const id = createUuidTaskId(middleOfMonth().getTime())
  const partitions = await partitionsReadBy(async (recording) =>
    expect(await findCharged(recording, { id, day, accountId: undefined })).toBeUndefined(),
  )
  expect(partitions).toHaveLength(1)
})

test('a task that ended months after its creation is found too, and no task of another account', async () => {
  const { id, day, accountId } = await endedTask(daysAgo(70))
  expect(await findCharged(database.postgres, { id, day, accountId })).toMatchObject({
    ...{ accountId, status: 'failed', holdMicros: 400_000, capturedMicros: 0 },
  })
  const other = await createAccount(database.postgres)
  expect(await findCharged(database.postgres, { id, day, accountId: other })).toBeUndefined()
})
