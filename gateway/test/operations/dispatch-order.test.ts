/** The order in which accepted tasks get a provider's slots, straight at the store that decides it. */
import { randomUUID } from 'node:crypto'

import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'

import { retakeLost, returnToLine, takeAccepted } from '../../src/videos/open-task-store.ts'
import { createDatabase, type TestDatabase } from '../kit/database.ts'

let database: TestDatabase
const [many, few, late] = [randomUUID(), randomUUID(), randomUUID()]

beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database[Symbol.asyncDispose]())
beforeEach(() => database.postgres.query('truncate open_tasks'))

/** Puts `count` tasks of an account in line, one second apart, the first one `secondsAgo`. */
const line = async (account: string, count: number, secondsAgo: number, deadlineSeconds = 3600) => {
  await database.postgres.query(
    `insert into open_tasks (task_id, day, account_id, provider, shard, accepted_at, not_before, deadline_at, touched_at)
     select $1 || '-' || n, current_date, $1::uuid, 'vendor', 0, at, at, now() + make_interval(secs => $4), at
       from (select n, now() - make_interval(secs => $3 - n) as at from generate_series(0, $2 - 1) as n) tasks`,
    [account, count, secondsAgo, deadlineSeconds],
  )
}
const take = (slots: number, atMost = 300) => takeAccepted(database.postgres, 'vendor', slots, atMost)
const countOf = (starts: { taskId: string }[], account: string) =>
  starts.filter(({ taskId }) => taskId.startsWith(account)).length

test('a long line of one account leaves room for the others, and nobody waits for an empty slot', async () => {
  await line(many, 100, 200)
  await line(few, 3, 20)
  await line(late, 2, 10)
  const starts = await take(10)
  expect([many, few, late].map((account) => countOf(starts, account))).toEqual([5, 3, 2])
})

test('what an account has in flight counts as its turn', async () => {
  await line(many, 20, 200)
  expect((await take(6)).length).toBe(6)
  await line(few, 20, 20)
  const starts = await take(10)
  expect([countOf(starts, many), countOf(starts, few)]).toEqual([0, 4])
})

test('within an account the oldest goes first, and slots are never exceeded', async () => {
  await line(many, 10, 100)
  expect((await take(4)).map(({ taskId }) => taskId).toSorted()).toEqual(
    [0, 1, 2, 3].map((n) => `${many}-${n}`),
  )
  expect(await take(4)).toEqual([])
})

test('a task put back in line gives up its slot and waits for its time', async () => {
  await line(many, 1, 100)
  const [start] = await take(1)
  await returnToLine(database.postgres, `${many}-0`, start?.run ?? 0, 60_000)
  expect(await take(1)).toEqual([])
  await line(few, 1, 10)
  expect((await take(1)).map(({ taskId }) => taskId)).toEqual([`${few}-0`])
})

test('a task waiting past its deadline is handed over without a slot, so that it can end', async () => {
  await line(many, 1, 100, -20)
  expect((await retakeLost(database.postgres, 'vendor', 10)).map(({ taskId }) => taskId)).toEqual([
    `${many}-0`,
  ])
})
