/**
 * The choices of random queues are those of one statement that reads all of each key. `npm run prove:queues` compares 10,000
 * queues.
 */
import { createHash } from 'node:crypto'

import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { chooseByStatement } from '../../../test/kit/choose-by-statement.ts'
import { createDatabase, type TestDatabase } from '../../../test/kit/database.ts'
import { tickOf } from '../../../test/kit/queue.ts'
import type { Database } from '../../platform/postgres.ts'
import type { Queue } from './choose-tasks.ts'
import type { QueueLimits } from './queue-limits.ts'
import { choose, lockQueue } from './queue-store.ts'

const queues = Number(process.env['RANDOM_QUEUES'] ?? 300)
const ticks = 3
const provider = 'vendor'
const models = ['any', 'scarce', 'other']

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database[Symbol.asyncDispose]())

const idOf = (name: string): string => {
  const hex = createHash('sha256').update(name).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

const limit = (max: number) => fc.option(fc.integer({ min: 1, max }), { freq: 2 })

/** Some tasks that were accepted together, which all are the same but for their order. */
const group = fc.record({
  count: fc.oneof(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 60 })),
  /** Few, so that tasks of several keys arrive at the same time. */
  acceptedAt: fc.nat(20),
  seconds: fc.constantFrom(4, 4, 5, 8, 25),
  model: fc.constantFrom('any', 'any', ...models),
  stage: fc.constantFrom('accepted', 'accepted', 'accepted', 'accepted', 'waiting'),
  at: fc.constantFrom(provider, provider, provider, 'other'),
  /** Whether a provider has returned them. */
  isReturned: fc.constantFrom(false, false, false, true),
  isDelayed: fc.constantFrom(false, false, false, true),
  isUnknown: fc.constantFrom(false, false, false, true),
})

const share = fc.option(fc.tuple(fc.nat(100), fc.nat(30)), { freq: 2 })
const key = fc.record({ limit: limit(30), share, groups: fc.array(group, { minLength: 1, maxLength: 4 }) })
const account = fc.record({ limit: limit(60), share, keys: fc.array(key, { minLength: 1, maxLength: 4 }) })

const queue = fc.record({
  accounts: fc.array(account, { minLength: 1, maxLength: 12 }),
  free: fc.oneof(fc.integer({ min: 0, max: 10 }), fc.integer({ min: 1, max: 200 }), fc.constant(300)),
  slotsElsewhere: fc.constantFrom(0, 0, 2, 20),
  startsMax: fc.constantFrom(5, 40, 300, 300),
  capacities: fc.array(fc.tuple(fc.constantFrom(...models), fc.nat(8)), { maxLength: 2 }),
  isStopped: fc.constantFrom(false, false, false, true),
  perAccount: limit(40),
  perKey: limit(20),
  /** Every how many accounts is locked, if any. */
  locked: fc.option(fc.constantFrom(1, 2), { freq: 2 }),
})
type RandomQueue = typeof queue extends fc.Arbitrary<infer Value> ? Value : never

const fill = async (inside: Database, { accounts }: RandomQueue) => {
  const keys = accounts.flatMap(({ keys: ofAccount, ...each }, index) =>
    ofAccount.map((one, number) => ({
      account: { ...each, id: idOf(`account ${index}`) },
      key: { ...one, id: idOf(`key ${index}/${number}`) },
    })),
  )
  const owners = new Map(keys.map(({ account: { id, limit: concurrency } }) => [id, concurrency]))
  await inside.query(
    `insert into accounts (id, name, concurrency)
     select id, id::text, concurrency from unnest($1::uuid[], $2::integer[]) as account (id, concurrency)`,
    [[...owners.keys()], [...owners.values()]],
  )
  await inside.query(
    `insert into keys (id, account_id, kind, name, hash, hint, concurrency)
     select id, account_id, 'payg', '', decode(md5(id::text), 'hex'), '', concurrency
       from unnest($1::uuid[], $2::uuid[], $3::integer[]) as key (id, account_id, concurrency)`,
    [
      keys.map((each) => each.key.id),
      keys.map((each) => each.account.id),
      keys.map((each) => each.key.limit),
    ],
  )
  const shares = keys.flatMap(({ account: { id, share: ofAccount }, key: one }) => [
    ...(ofAccount === null
      ? []
      : [{ queue: provider, owner: id, start: ofAccount[0], length: ofAccount[1] }]),
    ...(one.share === null
      ? []
      : [{ queue: `${provider}/${id}`, owner: one.id, start: one.share[0], length: one.share[1] }]),
  ])
  await inside.query(
    `insert into queue_shares (queue, owner, virtual_start, virtual_finish)
     select queue, owner, start, start + length
       from jsonb_to_recordset($1::jsonb) as s (queue text, owner uuid, start bigint, length bigint) on conflict do nothing`,
    [JSON.stringify(shares)],
  )
  const tasks = keys.flatMap(({ account: { id }, key: one }, place) =>
    one.groups.map((each, number) => ({ ...each, account: id, key: one.id, name: `${place}/${number}` })),
  )
  await inside.query(
    `insert into open_tasks (task_id, day, account_id, key_id, seconds, provider, model, shard, stage, run,
                             outcome_unknown_since, accepted_at, not_before, deadline_at)
     select md5(t.name || '/' || n), current_date, account, key, seconds, at, model, 0, stage,
            case when "isReturned" then 1000 else 0 end, case when "isUnknown" then now() end,
            now() - make_interval(secs => 1000 - "acceptedAt" - n / 2),
            now() + make_interval(secs => case when "isDelayed" then 60 else 0 end), now() + interval '1 hour'
       from jsonb_to_recordset($1::jsonb) as t
              (name text, account uuid, key uuid, count integer, "acceptedAt" integer, seconds integer, model text, stage text,
               at text, "isReturned" boolean, "isDelayed" boolean, "isUnknown" boolean),
            generate_series(1, count) as n`,
    [JSON.stringify(tasks)],
  )
}

/** Undoes what a test has written. */
class Rollback extends Error {
  override name = 'Rollback'
}

const seen = { choices: 0, throttled: 0, locked: 0, later: 0, readAgain: 0 }

const compare = async (given: RandomQueue) => {
  const { accounts, free, slotsElsewhere, startsMax, capacities, isStopped, perAccount, perKey } = given
  const busy = accounts
    .flatMap(({ keys }) => keys.flatMap(({ groups }) => groups))
    .filter(({ stage, at }) => stage !== 'accepted' && at === provider)
  const slots = free + busy.reduce((sum, { count }) => sum + count, 0)
  const whole: Queue = { provider, slots, slotsElsewhere, capacityOf: new Map(capacities), isStopped }
  const limits: QueueLimits = {
    ...{ concurrencyPerAccount: perAccount, concurrencyPerKey: perKey },
    lengthPerAccount: 20_000,
  }
  const every = given.locked
  const locked =
    every === null
      ? undefined
      : accounts.flatMap((_, index) => (index % every === 0 ? idOf(`account ${index}`) : []))
  const comparing = database.postgres.transaction(async (inside) => {
    await fill(inside, given)
    for (let tick = 0; tick < ticks; tick += 1) {
      await lockQueue(inside, provider)
      const expected = await chooseByStatement(inside, whole, startsMax, limits, locked)
      const observed: Database = {
        ...inside,
        query: (text, values) => {
          if (!text.includes('with recursive')) seen.readAgain += 1
          return inside.query(text, values)
        },
      }
      expect(await choose(observed, whole, startsMax, limits, locked)).toEqual(expected)
      seen.choices += expected.choices.length
      if (expected.isThrottled) seen.throttled += 1
      if (locked !== undefined) seen.locked += 1
      if (tick > 0 && expected.choices.length > 0) seen.later += 1
      // Later ticks find the shares and the tasks in flight of this one, some of which end.
      const { starts } = await tickOf(inside, whole, limits, startsMax)
      await inside.query(`delete from open_tasks where task_id = any ($1)`, [
        starts.filter((_, index) => index % 3 > 0).map(({ taskId }) => taskId),
      ])
    }
    throw new Rollback()
  })
  await comparing.catch((error: unknown) => {
    if (!(error instanceof Rollback)) throw error
  })
}

test(
  `the choices of ${queues} random queues are those of the statement`,
  { timeout: queues * 1_000 },
  async ({ annotate }) => {
    await fc.assert(fc.asyncProperty(queue, compare), { numRuns: queues, endOnFailure: queues > 1_000 })
    await annotate(JSON.stringify(seen))
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(queues / 20)
  },
)
