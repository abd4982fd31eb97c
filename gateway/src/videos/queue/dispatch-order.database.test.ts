/** The order in which accepted tasks get a provider's slots, and the concurrency limits, tested directly on the store. */
import { randomUUID } from 'node:crypto'

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'

import { createDatabase, type TestDatabase } from '../../../test/kit/database.ts'
import { createAccount, createKey } from '../../../test/kit/factories.ts'
import { dispatchTick, repeatableTick, tickOf } from '../../../test/kit/queue.ts'
import { runKey, type Run } from '../../platform/engine/run-key.ts'
import { returnToQueue } from '../lifecycle/submit-store.ts'
import { carriedVideos, findQueuedProviders } from './carried-task-store.ts'
import { countInFlight } from './queue-store.ts'

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

let batches = 0

/** Adds `count` waiting tasks of an account, a millisecond apart, the first one `secondsAgo`. */
const enqueue = async (
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
  batches += 1
  await database.postgres.query(
    `insert into open_tasks (task_id, day, account_id, key_id, seconds, provider, model, shard, accepted_at,
                             not_before, deadline_at)
     select $1 || '/' || $5 || '/' || $8 || '/' || n, current_date, $1::uuid, $5::uuid, $7, $6, $9, 0, at, at,
            now() + make_interval(secs => $4)
       from (select n, now() - make_interval(secs => $3 - n / 1000.0) as at from generate_series(0, $2 - 1) as n) tasks`,
    [account, count, secondsAgo, deadlineSeconds, key, provider, seconds, batches, model],
  )
}
const claim = async (slots: number, limit?: number) =>
  (await dispatchTick(database.postgres, { slots }, {}, limit)).starts
/** Starts tasks on `slots` slots and ends them at once, tick by tick; returns the tasks started in each. */
const serve = async (slots: number, ticks: number, limits = {}) => {
  const served: string[][] = []
  for (let tick = 0; tick < ticks; tick += 1) {
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

describe('order', () => {
  test('a long queue of one account leaves slots for the others, and no slot stays empty', async () => {
    await enqueue(many, 100, { secondsAgo: 200 })
    await enqueue(few, 3)
    await enqueue(late, 2, { secondsAgo: 10 })
    const starts = await claim(10)
    expect([many, few, late].map((account) => countOf(starts, account))).toEqual([5, 3, 2])
  })

  test('with fewer slots than accounts, all accounts get the same share, even if one queued a thousand tasks first', async () => {
    await enqueue(many, 1_000, { secondsAgo: 3_000 })
    const others = Array.from({ length: 10 }, () => randomUUID())
    for (const other of others) await enqueue(other, 20)
    const served = (await serve(4, 44)).flat()
    expect([many, ...others].map((account) => countOf(served, account))).toEqual(Array(11).fill(16))
  })

  test('a share is counted in seconds of video, not in tasks', async () => {
    await enqueue(many, 100, { seconds: 25 })
    await enqueue(few, 400, { seconds: 5 })
    const served = (await serve(1, 120)).flat()
    const [long, short] = [countOf(served, many), countOf(served, few)]
    expect(Math.abs(long * 25 - short * 5)).toBeLessThanOrEqual(25)
  })

  test('an idle account saves up no credit, and a served account keeps no debt', async () => {
    await enqueue(many, 200, { secondsAgo: 300 })
    await serve(1, 100)
    await enqueue(few, 200)
    const served = (await serve(1, 40)).flat()
    expect([many, few].map((account) => countOf(served, account))).toEqual([20, 20])
  })

  test('an account with one waiting task at a time gets no more than its share', async () => {
    // The account adds a task as soon as its last one has ended, so that it never has two waiting.
    for (const account of [many, late]) await enqueue(account, 100, { secondsAgo: 300 })
    const served: string[] = []
    await enqueue(few, 1)
    for (let tick = 0; tick < 30; tick += 1) {
      const [started = ''] = (await serve(1, 1)).flat()
      served.push(started)
      if (started.includes(few)) await enqueue(few, 1)
    }
    expect([many, late, few].map((account) => countOf(served, account))).toEqual([10, 10, 10])
  })

  test('the keys of an account divide its share', async () => {
    const [flooding, quiet] = [randomUUID(), randomUUID()]
    await enqueue(many, 100, { secondsAgo: 300, key: flooding })
    await enqueue(many, 20, { key: quiet })
    await enqueue(few, 100)
    const served = (await serve(1, 40)).flat()
    expect([few, flooding, quiet].map((owner) => countOf(served, owner))).toEqual([20, 10, 10])
  })

  test('shares are stored in the database and deleted once the clock has passed them', async () => {
    await enqueue(many, 100, { secondsAgo: 300 })
    for (const account of [few, late]) await enqueue(account, 1)
    await serve(1, 20)
    const { rows } = await database.postgres.query<{ owner: string }>(
      `select owner from queue_shares where queue = 'vendor'`,
    )
    expect(rows.map(({ owner }) => owner)).toEqual([many])
  })

  test('within a key the oldest task starts first, and slots are never exceeded', async () => {
    await enqueue(many, 10)
    const first = await claim(4)
    expect(first.map(({ taskId }) => taskId.slice(-2)).toSorted()).toEqual(['/0', '/1', '/2', '/3'])
    expect(await claim(4)).toEqual([])
  })

  test('a requeued task frees its slot, waits for its delay, and is not charged to the share again', async () => {
    await enqueue(many, 2)
    const [first] = await claim(1)
    const started = {
      taskId: first?.taskId ?? '',
      run: first?.run ?? 0,
      submits: 0,
      day: '2026-01-01',
      provider: 'vendor',
    }
    await returnToQueue(database.postgres, started, { waitMs: 60_000, isRefused: true })
    expect((await claim(1)).map(({ taskId }) => taskId.slice(-2))).toEqual(['/1'])
    expect(await claim(2)).toEqual([])
    await enqueue(few, 1)
    expect(countOf(await claim(2), few)).toBe(1)

    await database.postgres.query(`update open_tasks set not_before = now() where stage = 'accepted'`)
    const before = await database.postgres.query(`select * from queue_shares where owner = $1`, [many])
    expect((await claim(3)).map(({ taskId }) => taskId)).toEqual([first?.taskId])
    const after = await database.postgres.query(`select * from queue_shares where owner = $1`, [many])
    expect(after.rows.map(({ virtual_finish }) => Number(virtual_finish))).toEqual(
      before.rows.map(({ virtual_finish }) => Number(virtual_finish)),
    )
  })

  test('a waiting task past its deadline starts without a slot, so that it can end', async () => {
    await enqueue(many, 1, { deadlineSeconds: -20 })
    const { findOverdue, renew } = carriedVideos(database.postgres)
    expect(await renew(await findOverdue())).toHaveLength(1)
  })

  test('each provider with waiting tasks is found once, and started tasks are counted by model', async () => {
    const { postgres } = database
    await enqueue(many, 3, { model: 'counted' })
    await enqueue(few, 2, { provider: 'other' })
    expect(await findQueuedProviders(postgres)).toEqual(['other', 'vendor'])
    expect(await countInFlight(postgres, 'vendor', ['counted'])).toEqual(new Map())
    await claim(2)
    expect(await countInFlight(postgres, 'vendor', ['counted'])).toEqual(new Map([['counted', 2]]))
  })

  /** The rows and index entries that a tick reads which fills these slots. */
  const readByTick = (slots: number) =>
    database.postgres.transaction(async (inside) => {
      const readSoFar = async () => {
        const { rows } = await inside.query<{ read: number }>(
          `select pg_stat_get_xact_tuples_returned('open_tasks'::regclass)
                  + (select sum(pg_stat_get_xact_tuples_returned(indexrelid)) from pg_index
                      where indrelid = 'open_tasks'::regclass) as read`,
        )
        return rows[0]?.read ?? Number.NaN
      }
      const before = await readSoFar()
      const { starts } = await tickOf(inside, { slots }, {}, slots)
      expect(starts.length).toBe(slots)
      return (await readSoFar()) - before
    })
  const newIds = (count: number) => Array.from({ length: count }, () => randomUUID())

  test('a tick reads the same number of rows whatever the length of the queue', async () => {
    const others = newIds(10)
    const readBy = async (waiting: number) => {
      await database.postgres.query('truncate open_tasks, queue_shares')
      await enqueue(many, waiting, { secondsAgo: 3_000 })
      for (const other of others) await enqueue(other, 5)
      return readByTick(4)
    }
    const [short, long] = [await readBy(50), await readBy(10_000)]
    expect(long).toBe(short)
  })

  test('a tick reads hardly more of long queues than of short ones, even if all of their tasks could start', async () => {
    const owners = newIds(40)
    const readBy = async (waiting: number) => {
      await database.postgres.query('truncate open_tasks, queue_shares')
      for (const owner of owners) await enqueue(owner, waiting)
      return readByTick(20)
    }
    const [one, hundred] = [await readBy(1), await readBy(100)]
    expect(hundred).toBeLessThan(1.5 * one)
  })
})

describe('repeated ticks', () => {
  const tick = (tickId: string, slots = 4) =>
    database.postgres.transaction((connection) => repeatableTick(connection, slots, tickId))
  const keysOf = (runs: Run[]) => runs.map(runKey).toSorted()

  test('a tick that is executed again returns what it has claimed, and claims nothing more', async () => {
    await enqueue(many, 10)
    const tickId = randomUUID()
    const first = await tick(tickId)
    expect(first).toHaveLength(4)
    expect(keysOf(await tick(tickId, 10))).toEqual(keysOf(first))
    expect(await tick(randomUUID(), 10)).toHaveLength(6)
  })

  test('a worker that was frozen in a claim, and commits after another has executed its tick, claims nothing', async () => {
    await enqueue(many, 10)
    const tickId = randomUUID()
    const begun = Promise.withResolvers<void>()
    const resumed = Promise.withResolvers<void>()
    const frozen = database.postgres.transaction(async (connection) => {
      await connection.query('select 1')
      begun.resolve()
      await resumed.promise
      return repeatableTick(connection, 10, tickId)
    })
    await begun.promise
    const elsewhere = await tick(tickId)
    resumed.resolve()
    expect(keysOf(await frozen)).toEqual(keysOf(elsewhere))
    expect(elsewhere).toHaveLength(4)
  })

  test('a tick that waits for its first execution claims only if that was rolled back', async () => {
    await enqueue(many, 10)
    const [committed, rolledBack] = [randomUUID(), randomUUID()]
    const both = await Promise.all([tick(committed), tick(committed)])
    expect(keysOf(both[0])).toEqual(keysOf(both[1]))
    const abandoned = database.postgres.transaction(async (connection) => {
      await repeatableTick(connection, 10, rolledBack)
      throw new Error('rolled back')
    })
    await expect(abandoned).rejects.toThrow('rolled back')
    expect(await tick(rolledBack, 10)).toHaveLength(6)
  })
})

describe('concurrency limits', () => {
  test('a model with little capacity does not block tasks of other models behind it', async () => {
    const key = randomUUID()
    await enqueue(many, 1_000, { secondsAgo: 300, model: 'scarce' })
    await enqueue(many, 20, { secondsAgo: 200, model: 'plain' })
    await enqueue(few, 10, { secondsAgo: 100, key, model: 'scarce' })
    const modelsOf = (starts: { model: string }[]) =>
      ['scarce', 'plain'].map((model) => starts.filter((start) => start.model === model).length)
    const tick = (capacity: number) =>
      dispatchTick(database.postgres, { slots: 100, capacityOf: new Map([['scarce', capacity]]) }, {}, 40)
    const first = await tick(4)
    expect(modelsOf(first.starts)).toEqual([4, 20])
    expect(first.isThrottled).toBe(true)
    expect(countOf(first.starts, few)).toBe(2)
    expect(modelsOf((await tick(0)).starts)).toEqual([0, 0])
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

  test('an account at its limit waits, others use the slots, and it saves up no credit', async () => {
    const account = await capped(2)
    await enqueue(account, 10, { secondsAgo: 100 })
    await enqueue(many, 50)
    const starts = await claim(6)
    expect([account, many].map((owner) => countOf(starts, owner))).toEqual([2, 4])
    await end(starts)
    await database.postgres.query('update accounts set concurrency = 1 where id = $1', [account])
    await enqueue(account, 60, { secondsAgo: 90 })
    await enqueue(many, 100)
    expect(countOf((await serve(4, 20)).flat(), account)).toBe(20)
    await database.postgres.query('update accounts set concurrency = 100 where id = $1', [account])
    const served = (await serve(4, 10)).flat()
    expect([account, many].map((owner) => countOf(served, owner))).toEqual([20, 20])
  })

  test("a key's limit applies within its account, and the account's other keys continue", async () => {
    const account = await createAccount(database.postgres)
    const [slow, quick] = [
      await createKey(database.postgres, account),
      await createKey(database.postgres, account),
    ]
    await database.postgres.query('update keys set concurrency = 1 where id = $1', [slow.id])
    await enqueue(account, 10, { secondsAgo: 100, key: slow.id })
    await enqueue(account, 10, { key: quick.id })
    const starts = await claim(6)
    expect([slow.id, quick.id].map((key) => countOf(starts, key))).toEqual([1, 5])
  })

  test('the instance limits apply to accounts and keys without their own', async () => {
    const account = await capped(4)
    const limits = { concurrencyPerAccount: 2, concurrencyPerKey: 3 }
    await enqueue(account, 10)
    await enqueue(many, 10)
    const { starts } = await dispatchTick(database.postgres, {}, limits)
    expect([account, many].map((owner) => countOf(starts, owner))).toEqual([3, 2])
  })

  test('tasks in flight at other providers count, and a throttled account is retried soon', async () => {
    const account = await capped(2)
    await enqueue(account, 2, { provider: 'other' })
    await enqueue(account, 5)
    const claimAt = (provider: string) => dispatchTick(database.postgres, { provider, slotsElsewhere: 10 })
    const elsewhere = await claimAt('other')
    expect([elsewhere.starts.length, elsewhere.isThrottled]).toEqual([2, false])
    expect(await claimAt('vendor')).toEqual({ starts: [], isThrottled: true })
    await end(elsewhere.starts.slice(1))
    const here = await claimAt('vendor')
    expect([here.starts.length, here.isThrottled]).toEqual([1, false])
    expect(await claimAt('vendor')).toEqual({ starts: [], isThrottled: true })
  })

  test('concurrent dispatchers of three providers never exceed the limit of an account or key', async () => {
    const providers = ['a', 'b', 'c']
    const account = await capped(3)
    const key = await createKey(database.postgres, account)
    await database.postgres.query('update keys set concurrency = 2 where id = $1', [key.id])
    for (let round = 0; round < 30; round += 1) {
      await database.postgres.query('truncate open_tasks, queue_shares')
      for (const provider of providers) {
        await enqueue(account, 3, { provider })
        await enqueue(account, 3, { provider, key: key.id })
      }
      const claimed = await Promise.all(
        providers.map((provider) =>
          dispatchTick(database.postgres, { provider, slots: 20, slotsElsewhere: 40 }),
        ),
      )
      const starts = claimed.flatMap((each) => each.starts)
      expect(countOf(starts, key.id)).toBeLessThanOrEqual(2)
      expect(await inFlight(account)).toBe(3)
    }
  })
})
