/** The order in which accepted tasks get a provider's slots, and how many at once, straight at the store that decides it. */
import { randomUUID } from 'node:crypto'

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'

import { returnToQueue } from '../../src/videos/lifecycle/submit-store.ts'
import { requeueStalled } from '../../src/videos/queue/stalled-task-store.ts'
import { createDatabase, type TestDatabase } from '../kit/database.ts'
import { createAccount, createKey } from '../kit/factories.ts'
import { dispatchTick, tickOf } from '../kit/queue.ts'

let database: TestDatabase
const [many, few, late] = [randomUUID(), randomUUID(), randomUUID()]

beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database[Symbol.asyncDispose]())
beforeEach(() => database.postgres.query('truncate open_tasks, queue_shares'))

interface QueueTraits {
  secondsAgo?: number
  deadlineSeconds?: number
  key?: string
  provider?: string
  model?: string
  seconds?: number
}

let lines = 0

/** Puts `count` tasks of an account in line, a millisecond apart, the first one `secondsAgo`. */
const line = async (
  account: string,
  count: number,
  {
    secondsAgo = 20,
    deadlineSeconds = 3600,
    key = account,
    provider = 'vendor',
    model = 'any',
    seconds = 4,
  }: QueueTraits = {},
) => {
  lines += 1
  await database.postgres.query(
    `insert into open_tasks (task_id, day, account_id, key_id, seconds, provider, model, shard, accepted_at,
                             not_before, deadline_at, last_activity_at)
     select $1 || '/' || $5 || '/' || $8 || '/' || n, current_date, $1::uuid, $5::uuid, $7, $6, $9, 0, at, at,
            now() + make_interval(secs => $4), at
       from (select n, now() - make_interval(secs => $3 - n / 1000.0) as at from generate_series(0, $2 - 1) as n) tasks`,
    [account, count, secondsAgo, deadlineSeconds, key, provider, seconds, lines, model],
  )
}
const take = async (slots: number, limit?: number) =>
  (await dispatchTick(database.postgres, { slots }, {}, limit)).starts
/** Starts tasks on `slots` slots and ends them at once, turn by turn; answers who was started in each. */
const serve = async (slots: number, turns: number, limits = {}) => {
  const served: string[][] = []
  for (let turn = 0; turn < turns; turn += 1) {
    const { starts } = await dispatchTick(database.postgres, { slots }, limits)
    served.push(starts.map(({ taskId }) => taskId))
    await end(starts)
  }
  return served
}
const end = (starts: { taskId: string }[]) =>
  database.postgres.query('delete from open_tasks where task_id = any ($1)', [
    starts.map(({ taskId }) => taskId),
  ])
const countOf = (starts: (string | { taskId: string })[], owner: string) =>
  starts.filter((start) => (typeof start === 'string' ? start : start.taskId).includes(owner)).length

describe('the order', () => {
  test('a long line of one account leaves room for the others, and no slot stays empty for it', async () => {
    await line(many, 100, { secondsAgo: 200 })
    await line(few, 3)
    await line(late, 2, { secondsAgo: 10 })
    const starts = await take(10)
    expect([many, few, late].map((account) => countOf(starts, account))).toEqual([5, 3, 2])
  })

  test('with fewer slots than accounts, everybody still gets as much, though one was first with a thousand', async () => {
    await line(many, 1_000, { secondsAgo: 3_000 })
    const others = Array.from({ length: 10 }, () => randomUUID())
    for (const other of others) await line(other, 20)
    const served = (await serve(4, 44)).flat()
    expect([many, ...others].map((account) => countOf(served, account))).toEqual(Array(11).fill(16))
  })

  test('a share is counted in seconds of video, not in tasks', async () => {
    await line(many, 100, { seconds: 25 })
    await line(few, 400, { seconds: 5 })
    const served = (await serve(1, 120)).flat()
    const [long, short] = [countOf(served, many), countOf(served, few)]
    expect(Math.abs(long * 25 - short * 5)).toBeLessThanOrEqual(25)
  })

  test('who was away has saved up nothing, and who was served before owes nothing for long', async () => {
    await line(many, 200, { secondsAgo: 300 })
    await serve(1, 100)
    await line(few, 200)
    const served = (await serve(1, 40)).flat()
    expect([many, few].map((account) => countOf(served, account))).toEqual([20, 20])
  })

  test('one task at a time gets no more than a share of its own', async () => {
    // The account comes back as soon as its task has ended, with nothing in line in between.
    for (const account of [many, late]) await line(account, 100, { secondsAgo: 300 })
    const served: string[] = []
    await line(few, 1)
    for (let turn = 0; turn < 30; turn += 1) {
      const [started = ''] = (await serve(1, 1)).flat()
      served.push(started)
      if (started.includes(few)) await line(few, 1)
    }
    expect([many, late, few].map((account) => countOf(served, account))).toEqual([10, 10, 10])
  })

  test('the keys of an account share what is its own', async () => {
    const [flooding, quiet] = [randomUUID(), randomUUID()]
    await line(many, 100, { secondsAgo: 300, key: flooding })
    await line(many, 20, { key: quiet })
    await line(few, 100)
    const served = (await serve(1, 40)).flat()
    expect([few, flooding, quiet].map((owner) => countOf(served, owner))).toEqual([20, 10, 10])
  })

  test('it is kept over a restart and forgotten once it says nothing', async () => {
    await line(many, 100, { secondsAgo: 300 })
    for (const account of [few, late]) await line(account, 1)
    await serve(1, 20)
    const { rows } = await database.postgres.query<{ owner: string }>(
      `select owner from queue_shares where queue = 'vendor'`,
    )
    expect(rows.map(({ owner }) => owner)).toEqual([many])
  })

  test('within a key the oldest goes first, and slots are never exceeded', async () => {
    await line(many, 10)
    const first = await take(4)
    expect(first.map(({ taskId }) => taskId.slice(-2)).toSorted()).toEqual(['/0', '/1', '/2', '/3'])
    expect(await take(4)).toEqual([])
  })

  test('a task put back in line gives up its slot, waits for its time, and is not counted twice', async () => {
    await line(many, 2)
    const [first] = await take(1)
    const started = {
      taskId: first?.taskId ?? '',
      run: first?.run ?? 0,
      day: '2026-01-01',
      provider: 'vendor',
    }
    await returnToQueue(database.postgres, started, { waitMs: 60_000, isRefused: true })
    expect((await take(1)).map(({ taskId }) => taskId.slice(-2))).toEqual(['/1'])
    expect(await take(2)).toEqual([])
    await line(few, 1)
    expect(countOf(await take(2), few)).toBe(1)

    await database.postgres.query(`update open_tasks set not_before = now() where stage = 'accepted'`)
    const before = await database.postgres.query(`select * from queue_shares where owner = $1`, [many])
    expect((await take(3)).map(({ taskId }) => taskId)).toEqual([first?.taskId])
    const after = await database.postgres.query(`select * from queue_shares where owner = $1`, [many])
    expect(after.rows.map(({ virtual_finish }) => Number(virtual_finish))).toEqual(
      before.rows.map(({ virtual_finish }) => Number(virtual_finish)),
    )
  })

  test('a task waiting past its deadline is handed over without a slot, so that it can end', async () => {
    await line(many, 1, { deadlineSeconds: -20 })
    expect((await requeueStalled(database.postgres, 'vendor', 10, 60_000)).length).toBe(1)
  })

  test('how many wait changes nothing in what a turn reads', async () => {
    const others = Array.from({ length: 10 }, () => randomUUID())
    const readBy = async (waiting: number) => {
      await database.postgres.query('truncate open_tasks, queue_shares')
      await line(many, waiting, { secondsAgo: 3_000 })
      for (const other of others) await line(other, 5)
      return database.postgres.transaction(async (inside) => {
        const readSoFar = async () => {
          const { rows } = await inside.query<{ read: number }>(
            `select pg_stat_get_xact_tuples_returned('open_tasks'::regclass)
                    + (select sum(pg_stat_get_xact_tuples_returned(indexrelid)) from pg_index
                        where indrelid = 'open_tasks'::regclass) as read`,
          )
          return rows[0]?.read ?? Number.NaN
        }
        const before = await readSoFar()
        const { starts } = await tickOf(inside, { slots: 4 })
        expect(starts.length).toBe(4)
        return (await readSoFar()) - before
      })
    }
    const [short, long] = [await readBy(50), await readBy(10_000)]
    console.log(`rows and index entries read in a turn: ${short} with 50 waiting, ${long} with 10,000`)
    expect(long).toBe(short)
  })
})

describe('caps', () => {
  test('a model with room for few keeps nobody waiting behind it, in the same line or another', async () => {
    const key = randomUUID()
    await line(many, 1_000, { secondsAgo: 300, model: 'scarce' })
    await line(many, 20, { secondsAgo: 200, model: 'plain' })
    await line(few, 10, { secondsAgo: 100, key, model: 'scarce' })
    const modelsOf = (starts: { model: string }[]) =>
      ['scarce', 'plain'].map((model) => starts.filter((start) => start.model === model).length)
    const turn = (capacity: number) =>
      dispatchTick(database.postgres, { slots: 100, capacityOf: new Map([['scarce', capacity]]) }, {}, 40)
    const first = await turn(4)
    expect(modelsOf(first.starts)).toEqual([4, 20])
    expect(first.isThrottled).toBe(true)
    expect(countOf(first.starts, few)).toBe(2)
    expect(modelsOf((await turn(0)).starts)).toEqual([0, 0])
    const most = await dispatchTick(
      database.postgres,
      { slots: 100, capacityOf: new Map([['scarce', 3]]) },
      {
        concurrencyPerKey: 3,
      },
    )
    expect(countOf(most.starts, key)).toBe(1)
  })

  const inFlight = async (account: string) => {
    const { rows } = await database.postgres.query<{ count: number }>(
      `select count(*) from open_tasks where account_id = $1 and stage <> 'accepted'`,
      [account],
    )
    return rows[0]?.count ?? 0
  }
  const capped = async (concurrency: number) => {
    const account = await createAccount(database.postgres)
    await database.postgres.query('update accounts set concurrency = $2 where id = $1', [
      account,
      concurrency,
    ])
    return account
  }

  test('an account at its cap waits, others have the slots, and it saves up nothing meanwhile', async () => {
    const account = await capped(2)
    await line(account, 10, { secondsAgo: 100 })
    await line(many, 50)
    const starts = await take(6)
    expect([account, many].map((owner) => countOf(starts, owner))).toEqual([2, 4])
    await end(starts)
    await database.postgres.query('update accounts set concurrency = 1 where id = $1', [account])
    await line(account, 60, { secondsAgo: 90 })
    await line(many, 100)
    expect(countOf((await serve(4, 20)).flat(), account)).toBe(20)
    await database.postgres.query('update accounts set concurrency = 100 where id = $1', [account])
    const served = (await serve(4, 10)).flat()
    expect([account, many].map((owner) => countOf(served, owner))).toEqual([20, 20])
  })

  test("a key's cap holds inside its account, and the account's other keys go on", async () => {
    const account = await createAccount(database.postgres)
    const [slow, quick] = [
      await createKey(database.postgres, account),
      await createKey(database.postgres, account),
    ]
    await database.postgres.query('update keys set concurrency = 1 where id = $1', [slow.id])
    await line(account, 10, { secondsAgo: 100, key: slow.id })
    await line(account, 10, { key: quick.id })
    const starts = await take(6)
    expect([slow.id, quick.id].map((key) => countOf(starts, key))).toEqual([1, 5])
  })

  test("the instance's caps hold where an account or key has none of its own", async () => {
    const account = await capped(4)
    const limits = { concurrencyPerAccount: 2, concurrencyPerKey: 3 }
    await line(account, 10)
    await line(many, 10)
    const { starts } = await dispatchTick(database.postgres, {}, limits)
    expect([account, many].map((owner) => countOf(starts, owner))).toEqual([3, 2])
  })

  test('what is in flight elsewhere counts, and the one held back is looked at again soon', async () => {
    const account = await capped(2)
    await line(account, 2, { provider: 'other' })
    await line(account, 5)
    const takeAt = (provider: string) => dispatchTick(database.postgres, { provider, slotsElsewhere: 10 })
    const elsewhere = await takeAt('other')
    expect([elsewhere.starts.length, elsewhere.isThrottled]).toEqual([2, false])
    expect(await takeAt('vendor')).toEqual({ starts: [], isThrottled: true })
    await end(elsewhere.starts.slice(1))
    const here = await takeAt('vendor')
    expect([here.starts.length, here.isThrottled]).toEqual([1, false])
    expect(await takeAt('vendor')).toEqual({ starts: [], isThrottled: true })
  })

  test('the dispatchers of three providers at the same time never take an account or key over its cap', async () => {
    const providers = ['a', 'b', 'c']
    const account = await capped(3)
    const key = await createKey(database.postgres, account)
    await database.postgres.query('update keys set concurrency = 2 where id = $1', [key.id])
    for (let round = 0; round < 30; round += 1) {
      await database.postgres.query('truncate open_tasks, queue_shares')
      for (const provider of providers) {
        await line(account, 3, { provider })
        await line(account, 3, { provider, key: key.id })
      }
      const taken = await Promise.all(
        providers.map((provider) =>
          dispatchTick(database.postgres, { provider, slots: 20, slotsElsewhere: 40 }),
        ),
      )
      const starts = taken.flatMap((each) => each.starts)
      expect(countOf(starts, key.id)).toBeLessThanOrEqual(2)
      expect(await inFlight(account)).toBe(3)
    }
  })
})
