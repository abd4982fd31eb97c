/** The figures of budgets, counted by several processes on one database. */
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'

import { createDatabase, type TestDatabase } from '../../test/kit/database.ts'
import { logOptions } from '../platform/log.ts'
import { connectPostgres, type Postgres } from '../platform/postgres.ts'
import { modelsWithoutCosts, refreshSpend } from './budgets.ts'
import { countSpend, type DailyBudget } from './spend-store.ts'

let database: TestDatabase
let other: Postgres
const logged: string[] = []
const log = pino(logOptions('warn', 'test'), { write: (line: string) => logged.push(line) })
const budget: DailyBudget = { provider: 'acme', micros: 1_000_000, alertMicros: 800_000, stops: true }

beforeAll(async () => {
  database = await createDatabase()
  other = connectPostgres({ url: database.url, connectionsMax: 10 }, log)
})
afterAll(async () => {
  await other.close()
  await database[Symbol.asyncDispose]()
})
const query = async (text: string, values: unknown[] = []) =>
  (await database.postgres.query<Record<string, unknown>>(text, values)).rows
beforeEach(async () => {
  logged.length = 0
  await query('delete from provider_spend')
  await query('delete from usage_entries')
})

const count = async () => (await countSpend(database.postgres, [budget]))[0]
const spend = (entries: number, costMicros: number) =>
  query(
    `insert into usage_entries (day, id, ended_at, account_id, key_id, model, outcome, captured_micros, provider, cost_micros,
                                prices)
     select (now() at time zone 'utc')::date, gen_random_uuid()::text, now(), gen_random_uuid(), gen_random_uuid(), 'm',
            'completed', 1, 'acme', $2, '[]' from generate_series(1, $1)`,
    [entries, costMicros],
  )
const warnings = (name: string) => logged.filter((line) => line.includes(name)).length
const refresh = (given = budget) => refreshSpend({ postgres: other, log }, [given], 0)

test('of several processes, one counts', async () => {
  await spend(2, 50_000)
  const counts = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      countSpend(index % 2 === 0 ? other : database.postgres, [budget], 60_000),
    ),
  )
  expect(counts.flat()).toMatchObject([{ provider: 'acme', spentMicros: 100_000 }])
})

test('a count that began before midnight does not bring the day back', async () => {
  await spend(1, 1_000)
  await count()
  await query('update provider_spend set day = day + 1, spent_micros = 7, alerted_micros = 5')
  expect(await count()).toBeUndefined()
  expect(await query('select spent_micros, alerted_micros from provider_spend')).toEqual([
    { spent_micros: 7, alerted_micros: 5 },
  ])
})

test('an entry is counted once, also after it is too old to be read again', async () => {
  await spend(3, 100_000)
  await expect(count()).resolves.toMatchObject({ spentMicros: 300_000 })
  // As if the day had begun an hour ago, and the entries were of its beginning.
  await query(`update provider_spend set settled_until = now() - interval '1 hour'`)
  await query(`update usage_entries set ended_at = now() - interval '30 minutes'`)
  for (let times = 0; times < 3; times += 1) {
    await expect(count()).resolves.toMatchObject({ spentMicros: 300_000 })
  }
  expect(await query('select settled_micros from provider_spend')).toEqual([{ settled_micros: 300_000 }])
  await spend(1, 50_000)
  await expect(count()).resolves.toMatchObject({ spentMicros: 350_000 })
})

test('on the next day, nothing is spent', async () => {
  await spend(10, 100_000)
  await expect(count()).resolves.toMatchObject({ spentMicros: 1_000_000 })
  await query('update provider_spend set day = day - 1')
  await query(`update usage_entries set day = day - 1, ended_at = ended_at - interval '1 day'`)
  await expect(count()).resolves.toMatchObject({ spentMicros: 0 })
})

test('the log warns once per threshold and day, and again after the budget was raised', async () => {
  await refresh()
  expect(logged).toEqual([])
  await spend(8, 100_000)
  for (let times = 0; times < 2; times += 1) await refresh()
  expect([warnings('provider-budget.alert'), warnings('provider-budget.spent')]).toEqual([1, 0])
  await spend(2, 100_000)
  for (let times = 0; times < 2; times += 1) await refresh()
  expect([warnings('provider-budget.alert'), warnings('provider-budget.spent')]).toEqual([1, 1])
  await refresh({ ...budget, micros: 1_200_000, alertMicros: 960_000 })
  expect([warnings('provider-budget.alert'), warnings('provider-budget.spent')]).toEqual([2, 1])
})

test('figures that another process has just counted are not counted again', async () => {
  await refresh()
  await spend(1, 100_000)
  const known = await refreshSpend({ postgres: database.postgres, log }, [budget], 60_000)
  expect(known.get('acme')).toMatchObject({ spentMicros: 0 })
})

test('a model whose costs at the provider are unknown is named', () => {
  const route = {
    upstreamModel: 'x',
    order: 1,
    weight: 1,
    seconds: undefined,
    sizes: undefined,
    slots: undefined,
  }
  const models = {
    known: { routes: [{ ...route, provider: 'acme', costs: [] }] },
    unknown: { routes: [{ ...route, provider: 'acme', costs: undefined }] },
    elsewhere: { routes: [{ ...route, provider: 'spare', costs: undefined }] },
    'without-routes': { routes: undefined },
  }
  const config = { providers: [{ name: 'acme', budget }, { name: 'spare' }], models }
  expect(modelsWithoutCosts(config as unknown as Parameters<typeof modelsWithoutCosts>[0])).toEqual(
    new Map([['acme', ['unknown', 'without-routes']]]),
  )
})
