/** The meter for synchronous requests, on a real database. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { createDatabase, type TestDatabase } from '../../../test/kit/database.ts'
import { createAccount, createKey } from '../../../test/kit/factories.ts'
import { brokenInvariants } from '../../../test/kit/ledger.ts'
import { startProxy } from '../../../test/kit/start-gateway.ts'
import type { Caller } from '../../auth/caller.ts'
import { createLog } from '../../platform/log.ts'
import { connectPostgres } from '../../platform/postgres.ts'
import { finishMeteredRequests, type OpenRequest } from '../ledger/metered-request-store.ts'
import { priceOf } from '../prices/price.ts'
import { setKeyLimits } from '../spending/spending-store.ts'
import { createMeter, type Meter, type MeterTimes } from './meter.ts'

const log = createLog({ level: 'silent' }, 'test')
const usual: MeterTimes = { leaseSeconds: 300, extendEveryMs: 60_000 }
// A process that dies right after it has opened a request.
const gone: MeterTimes = { leaseSeconds: 0, extendEveryMs: 600_000 }

let database: TestDatabase
const opened: Meter[] = []

beforeAll(async () => {
  database = await createDatabase()
})
afterAll(async () => {
  await Promise.all(opened.map((meter) => meter.close()))
  await database[Symbol.asyncDispose]()
})

const meterWith = (times = usual, postgres = database.postgres) => {
  const meter = createMeter({ postgres, log }, times)
  opened.push(meter)
  return meter
}

const callerWith = async (balance: number, quotaMicros?: number): Promise<Caller> => {
  const { postgres } = database
  const accountId = await createAccount(postgres, { balance })
  const { id } = await createKey(postgres, accountId, quotaMicros === undefined ? {} : { quotaMicros })
  return {
    keyId: id,
    accountId,
    kind: 'payg',
    scopes: [],
    models: undefined,
    addresses: undefined,
    requestsPerMinute: undefined,
    limits: {},
    dialect: 'reference',
    hasQuota: quotaMicros !== undefined,
    currency: 'USD',
  }
}

// A character costs a micro.
const characters = (count: number) => [priceOf('million_characters', 1_000_000, count)]
const model = { id: 'm', name: 'm' }
const open = (meter: Meter, caller: Caller, count: number) =>
  meter.open({ caller, operation: 'createSpeech', model, provider: 'p', heldFor: characters(count) })

const booksOf = async ({ accountId, keyId }: Caller) => {
  const { rows } = await database.postgres.query<Record<string, unknown>>(
    `select b.available_micros as available, b.held_micros as held, q.used_micros as used,
            (select coalesce(sum(amount_micros), 0) from ledger_entries
              where account_id = $1 and book = 'revenue') as revenue
       from balances b left join key_quotas q on q.key_id = $2 where b.account_id = $1`,
    [accountId, keyId],
  )
  return rows[0]
}
const rowOf = async (id: string) => {
  const { rows } = await database.postgres.query<Record<string, unknown>>(
    `select outcome, hold_micros as held, captured_micros as captured, held_for, charged_for,
            lease_expires_at > now() as "isServed" from metered_requests where id = $1`,
    [id],
  )
  return rows[0]
}

describe('one request', () => {
  test('holds the maximum, captures the used amount and releases the rest', async () => {
    const meter = meterWith()
    const caller = await callerWith(1, 5_000)
    const metered = await open(meter, caller, 1_000)
    expect(await booksOf(caller)).toEqual({ available: 999_000, held: 1_000, used: 1_000, revenue: 0 })
    expect(await rowOf(metered.id)).toMatchObject({
      outcome: 'open',
      held: 1_000,
      captured: null,
      isServed: true,
    })

    await metered.settle('aborted', characters(400))
    expect(await booksOf(caller)).toEqual({ available: 999_600, held: 0, used: 400, revenue: 400 })
    expect(await rowOf(metered.id)).toMatchObject({
      outcome: 'aborted',
      captured: 400,
      held_for: [{ unit: 'million_characters', unitMicros: 1_000_000, quantity: 0.001, totalMicros: 1_000 }],
      charged_for: [
        { unit: 'million_characters', unitMicros: 1_000_000, quantity: 0.0004, totalMicros: 400 },
      ],
    })
  })

  test('never costs more than its hold, and nothing if it failed', async () => {
    const meter = meterWith()
    const caller = await callerWith(1)
    await (await open(meter, caller, 1_000)).settle('completed', characters(1_500))
    expect(await booksOf(caller)).toMatchObject({ available: 999_000, held: 0, revenue: 1_000 })
    await (await open(meter, caller, 1_000)).settle('failed', [])
    expect(await booksOf(caller)).toMatchObject({ available: 999_000, held: 0, revenue: 1_000 })
  })

  test('is recorded even if it is free', async () => {
    const caller = await callerWith(0)
    const metered = await open(meterWith(), caller, 0)
    await metered.settle('completed', characters(0))
    expect(await rowOf(metered.id)).toMatchObject({ outcome: 'completed', held: 0, captured: 0 })
  })

  test('is settled once, by the first call', async () => {
    const caller = await callerWith(1, 5_000)
    const metered = await open(meterWith(), caller, 1_000)
    await Promise.all([
      metered.settle('completed', characters(1_000)),
      metered.settle('failed', []),
      metered.settle('aborted', characters(1)),
    ])
    await metered.settle('failed', [])
    expect(await rowOf(metered.id)).toMatchObject({ outcome: 'completed', captured: 1_000 })
    expect(await booksOf(caller)).toEqual({ available: 999_000, held: 0, used: 1_000, revenue: 1_000 })
  })

  test('leaves nothing behind when refused', async () => {
    const caller = await callerWith(0.000_5)
    await expect(open(meterWith(), caller, 1_000)).rejects.toMatchObject({ code: 'insufficient_balance' })
    expect(await booksOf(caller)).toMatchObject({ available: 500, held: 0 })
    const { rows } = await database.postgres.query('select 1 from metered_requests where account_id = $1', [
      caller.accountId,
    ])
    expect(rows).toEqual([])
  })
})

describe('concurrent requests', () => {
  test('never exceed the balance, the quota or the budget of the key, or the spend cap', async () => {
    const { postgres } = database
    const meters = [meterWith(), meterWith(), meterWith()]
    const [withBudget, capped] = [await callerWith(1), await callerWith(1)]
    await setKeyLimits(postgres, withBudget.keyId, { budgets: [{ period: 'month', limitMicros: 50_000 }] })
    await postgres.query('update accounts set spend_cap_micros = 50000 where id = $1', [capped.accountId])
    const bounds = [
      [await callerWith(0.05), 'insufficient_balance'],
      [await callerWith(1, 50_000), 'quota_exceeded'],
      [{ ...withBudget, hasQuota: true }, 'quota_exceeded'],
      [capped, 'quota_exceeded'],
    ] as const
    for (const [caller, code] of bounds) {
      const results = await Promise.allSettled(
        Array.from({ length: 180 }, (_, index) => open(meters[index % 3] as Meter, caller, 1_000)),
      )
      const held = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
      expect(held).toHaveLength(50)
      for (const result of results) {
        if (result.status === 'rejected') expect(result.reason).toMatchObject({ code })
      }
      await Promise.all(held.map((metered, index) => metered.settle('completed', characters(index))))
      // 0 + 1 + … + 49
      expect(await booksOf(caller)).toMatchObject({ held: 0, revenue: 1_225 })
    }
  })

  test('of many accounts settle concurrently in any order', async () => {
    const meters = [meterWith(), meterWith(), meterWith()]
    const callers = await Promise.all(Array.from({ length: 12 }, () => callerWith(1, 1_000_000)))
    const held = await Promise.all(
      Array.from({ length: 20 }).flatMap((_, round) =>
        callers.map((caller, index) => open(meters[(round + index) % 3] as Meter, caller, 100)),
      ),
    )
    const shuffled = held.map((metered, index) => ({ metered, at: (index * 7_919) % 240 }))
    await Promise.all(
      shuffled
        .toSorted((a, b) => a.at - b.at)
        .map(({ metered }) => metered.settle('completed', characters(70))),
    )
    for (const caller of callers) {
      expect(await booksOf(caller)).toEqual({ available: 998_600, held: 0, used: 1_400, revenue: 1_400 })
    }
  })
})

describe('an abandoned request', () => {
  test('is ended and released once, by one of several workers', async () => {
    const caller = await callerWith(1, 5_000)
    const metered = await open(meterWith(gone), caller, 1_000)
    const released = await Promise.all([meterWith().releaseAbandoned(), meterWith().releaseAbandoned()])
    expect(released.reduce((sum, count) => sum + count)).toBe(1)
    expect(await rowOf(metered.id)).toMatchObject({ outcome: 'abandoned', captured: 0 })
    expect(await booksOf(caller)).toEqual({ available: 1_000_000, held: 0, used: 0, revenue: 0 })

    // A settlement after that is ignored.
    await metered.settle('completed', characters(1_000))
    expect(await rowOf(metered.id)).toMatchObject({ outcome: 'abandoned', captured: 0 })
    expect(await booksOf(caller)).toEqual({ available: 1_000_000, held: 0, used: 0, revenue: 0 })
  })

  test('is not one whose lease is being extended', async () => {
    const caller = await callerWith(1)
    const metered = await open(meterWith({ leaseSeconds: 300, extendEveryMs: 20 }), caller, 1_000)
    await database.postgres.query(
      `update metered_requests set lease_expires_at = now() - interval '1 s' where id = $1`,
      [metered.id],
    )
    await expect.poll(async () => (await rowOf(metered.id))?.['isServed']).toBe(true)
    expect(await meterWith().releaseAbandoned()).toBe(0)
    expect(await rowOf(metered.id)).toMatchObject({ outcome: 'open' })
    await metered.settle('completed', characters(1_000))
    expect(await booksOf(caller)).toMatchObject({ held: 0, revenue: 1_000 })
  })

  test('is not one whose lease was extended after it was found', async () => {
    const caller = await callerWith(1)
    const metered = await open(meterWith(), caller, 1_000)
    const day = new Date().toISOString().slice(0, 10)
    const request = { id: metered.id, day, ...caller, wallet: 'payg' as const, holdMicros: 1_000 }
    const ended = await finishMeteredRequests(database.postgres, [
      { request, outcome: 'abandoned', chargedFor: [], capturedMicros: 0 },
    ])
    expect(ended.size).toBe(0)
    await metered.settle('failed', [])
  })
})

test('requests ended concurrently in different orders are ended once without a deadlock', async () => {
  const caller = await callerWith(1)
  const meter = meterWith(gone)
  const requests = await Promise.all(Array.from({ length: 120 }, () => open(meter, caller, 10)))
  const { rows } = await database.postgres.query<OpenRequest & Record<string, unknown>>(
    `select id, day, account_id as "accountId", key_id as "keyId", wallet, hold_micros as "holdMicros"
       from metered_requests where id = any($1) order by id`,
    [requests.map(({ id }) => id)],
  )
  const ending = (request: OpenRequest) => {
    return { request, outcome: 'abandoned' as const, chargedFor: [], capturedMicros: 0 }
  }
  for (let round = 0; round < 20; round += 1) {
    // Rolled back, so that the next round finds them open again.
    const undone = new Error('undone')
    const attempt = (given: OpenRequest[]) =>
      database.postgres
        .transaction(async (each) => {
          await finishMeteredRequests(each, given.map(ending))
          throw undone
        })
        .catch((error: unknown) => expect(error).toBe(undone))
    await Promise.all([attempt(rows), attempt(rows.toReversed()), attempt(rows), attempt(rows.toReversed())])
  }
  await Promise.all(requests.map((request) => request.settle('failed', [])))
  expect(await booksOf(caller)).toMatchObject({ held: 0, available: 1_000_000 })
})

test('an end that could not be written is retried', async () => {
  await using proxy = await startProxy(database.url)
  const postgres = connectPostgres({ url: proxy.url, connectionsMax: 2 }, log)
  const meter = meterWith({ leaseSeconds: 300, extendEveryMs: 50 }, postgres)
  const caller = await callerWith(1)
  const metered = await open(meter, caller, 1_000)
  await proxy.cut()
  await metered.settle('completed', characters(600))
  expect(await rowOf(metered.id)).toMatchObject({ outcome: 'open' })
  await proxy.mend()
  await expect.poll(async () => (await rowOf(metered.id))?.['outcome']).toBe('completed')
  expect(await booksOf(caller)).toMatchObject({ available: 999_400, held: 0, revenue: 600 })
  await meter.close()
  await postgres.close()
})

test('the audit passes, and detects a finished request that still holds money', async () => {
  expect(await brokenInvariants(database.postgres)).toEqual([])
  const metered = await open(meterWith(), await callerWith(1), 1_000)
  await database.postgres.query(
    `update metered_requests set outcome = 'completed', captured_micros = 0, finished_at = now() where id = $1`,
    [metered.id],
  )
  expect(await brokenInvariants(database.postgres)).toContainEqual(
    expect.stringContaining(`no_hold_on_finished: ${metered.id}`),
  )
})
