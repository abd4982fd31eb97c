/** Wallets, limits, cycles, prices, receipts and the ledger audit, on a real database. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { createDatabase, type TestDatabase } from '../../../test/kit/database.ts'
import { acceptedAt } from '../../../test/kit/expired.ts'
import { createAccount, createKey, subscribe } from '../../../test/kit/factories.ts'
import { referenceCatalog } from '../../../test/kit/reference-catalog.ts'
import { withoutIntervals } from '../../../test/kit/without-intervals.ts'
import type { Caller } from '../../auth/caller.ts'
import { insertAccount } from '../../auth/key-store.ts'
import { uuidV7 } from '../../platform/ids/uuid.ts'
import type { Log } from '../../platform/log.ts'
import { createLog } from '../../platform/log.ts'
import type { Database } from '../../platform/postgres.ts'
import { runIncrementalAudit, runFullAudit, createAuditTick, isSound } from '../ledger/audit-ledger.ts'
import { adjust, expire, topUp, type OperatorOrder } from '../ledger/movements.ts'
import { readReceipt } from '../ledger/receipt.ts'
import type { Period } from '../money/period.ts'
import { createPriceList, startedPrices } from '../prices/price-list.ts'
import { insertPrice, type SetPrice } from '../prices/price-store.ts'
import { endSubscription, renewCycles, setSubscription } from '../subscriptions/subscriptions.ts'
import { placeHolds, settleHolds } from './spend.ts'
import { setKeyLimits } from './spending-store.ts'

const log = createLog({ level: 'silent' }, 'test')
const dayMs = 86_400_000
const day = new Date().toISOString().slice(0, 10)

let database: TestDatabase

beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database[Symbol.asyncDispose]())

const callerOf = async (
  accountId: string,
  { kind = 'payg' as const, quotaMicros }: { kind?: Caller['kind']; quotaMicros?: number } = {},
): Promise<Caller> => {
  const { id } = await createKey(database.postgres, accountId, {
    kind,
    ...(quotaMicros !== undefined && { quotaMicros }),
  })
  return {
    ...{
      keyId: id,
      accountId,
      kind,
      scopes: [],
      models: undefined,
      addresses: undefined,
      requestsPerMinute: undefined,
    },
    ...{ limits: {}, dialect: 'reference', hasQuota: quotaMicros !== undefined, currency: 'USD' },
  }
}

/** Places a hold for a new task; returns the refusal, if any. */
const hold = async (caller: Caller, amountMicros: number) => {
  const taskId = `req_${uuidV7()}`
  const { refusals } = await database.postgres.transaction((each) =>
    placeHolds(each, [{ caller, taskAt: () => ({ id: taskId, day }), amountMicros }]),
  )
  return { taskId, refusal: refusals[0] }
}
const settle = (caller: Caller, taskId: string, holdMicros: number, captureMicros: number) =>
  database.postgres.transaction((each) =>
    settleHolds(each, [{ ...caller, wallet: caller.kind, taskId, day, holdMicros, captureMicros }]),
  )

const walletOf = async (accountId: string, wallet = 'payg') => {
  const { rows } = await database.postgres.query<{ available: number; held: number; spent: number }>(
    `select available_micros as available, held_micros as held, spent_micros as spent from balances
      where account_id = $1 and wallet = $2`,
    [accountId, wallet],
  )
  return rows[0]
}
const usedOf = async ({ keyId }: Caller) => {
  const { rows } = await database.postgres.query<{ period: string; used: number }>(
    `select period, used_micros as used from key_budgets where key_id = $1
     union all select 'ever', used_micros from key_quotas where key_id = $1`,
    [keyId],
  )
  return Object.fromEntries(rows.map(({ period, used }) => [period, used]))
}
const movementsOf = async (accountId: string) => {
  const { rows } = await database.postgres.query<{ kind: string; amount: number; reference: string }>(
    `select kind, amount_micros as amount, reference from account_movements where account_id = $1 order by id`,
    [accountId],
  )
  return rows.map(({ kind, amount }) => [kind, amount])
}

/** The invariants that an audit finds broken for these accounts or tasks, without those of other tests. */
const findingsAbout = async (...names: string[]) => {
  const { findings } = await runFullAudit(database.postgres)
  return findings.flatMap(({ invariant, examples }) =>
    examples.some((example) => names.some((name) => example.includes(name))) ? invariant : [],
  )
}

describe('movements', () => {
  const order = (accountId: string, amountMicros: number, reference?: string): OperatorOrder => ({
    ...{ accountId, wallet: 'payg', amountMicros, actor: 'operator …abcd', reason: 'a test', reference },
    currency: 'EUR',
  })

  test('add and remove money and return the new balance', async () => {
    const accountId = await createAccount(database.postgres, { balance: 0 })
    const within = database.postgres.transaction
    const added = await within((each) => topUp(each, order(accountId, 1_000)))
    expect(added).toMatchObject({
      movement: { kind: 'top_up', amountMicros: 1_000, actor: 'operator …abcd', reference: null },
      balance: { availableMicros: 1_000, heldMicros: 0 },
      isRepeat: false,
    })
    const taken = await within((each) => adjust(each, order(accountId, -300)))
    expect(taken.balance).toEqual({ availableMicros: 700, heldMicros: 0 })
    await within((each) => adjust(each, order(accountId, 50)))
    await within((each) => expire(each, order(accountId, 0)))
    expect(await walletOf(accountId)).toEqual({ available: 0, held: 0, spent: 0 })
    expect(await findingsAbout(accountId)).toEqual([])
  })

  test('with the same reference are made once, also concurrently', async () => {
    const accountId = await createAccount(database.postgres, { balance: 0 })
    const made = await Promise.all(
      Array.from({ length: 8 }, () =>
        database.postgres.transaction((each) => topUp(each, order(accountId, 1_000, 'invoice 7'))),
      ),
    )
    expect(new Set(made.map(({ movement }) => movement.id)).size).toBe(1)
    expect(made.filter(({ isRepeat }) => !isRepeat)).toHaveLength(1)
    expect(await walletOf(accountId)).toMatchObject({ available: 1_000 })
    await expect(
      database.postgres.transaction((each) => topUp(each, order(accountId, 999, 'invoice 7'))),
    ).rejects.toMatchObject({
      code: 'conflict',
      param: 'reference',
      message:
        "The reference 'invoice 7' was already used for 0.001 EUR in the wallet 'payg'. Use another reference.",
    })
    // Another kind of movement may use the same reference.
    await database.postgres.transaction((each) => adjust(each, order(accountId, -1_000, 'invoice 7')))
    expect(await walletOf(accountId)).toMatchObject({ available: 0 })
  })

  test('never remove more than is available, which excludes held money', async () => {
    const accountId = await createAccount(database.postgres, { balance: 1 })
    await hold(await callerOf(accountId), 400_000)
    await expect(
      database.postgres.transaction((each) => adjust(each, order(accountId, -600_001))),
    ).rejects.toMatchObject({
      code: 'conflict',
      message: 'The wallet has only 0.60 EUR available; the adjustment cannot exceed that.',
    })
    expect(await movementsOf(accountId)).toEqual([])
    expect(await walletOf(accountId)).toMatchObject({ available: 600_000, held: 400_000 })
  })

  test('reject amounts that are too large and unknown accounts', async () => {
    const accountId = await createAccount(database.postgres)
    const most = Number.MAX_SAFE_INTEGER
    await expect(
      database.postgres.transaction((each) => topUp(each, order(accountId, most))),
    ).rejects.toMatchObject({ code: 'conflict' })
    await expect(
      database.postgres.transaction((each) => topUp(each, order(uuidV7(), 1))),
    ).rejects.toMatchObject({ code: 'resource_not_found' })
  })
})

describe('limits', () => {
  test.each<Period>(['hour', 'day', 'week', 'month'])(
    'a budget per %s is used up by holds, given back by releases, and starts anew',
    async (period) => {
      const caller = await callerOf(await createAccount(database.postgres))
      await setKeyLimits(database.postgres, caller.keyId, { budgets: [{ period, limitMicros: 1_000 }] })
      const first = await hold(caller, 600)
      expect((await hold(caller, 401)).refusal).toMatchObject({
        code: 'quota_exceeded',
        message: expect.stringContaining(
          `budget per ${period} is too low: 0.0004 of 0.001 USD left`,
        ) as string,
      })
      await settle(caller, first.taskId, 600, 100)
      expect(await usedOf(caller)).toEqual({ [period]: 100 })
      const second = await hold(caller, 900)
      expect(second.refusal).toBeUndefined()

      // Moves both holds into the previous period.
      await database.postgres.query(
        `update ledger_entries set created_at = created_at - ('1 ' || $2)::interval where key_id = $1`,
        [caller.keyId, period],
      )
      await database.postgres.query(
        `update key_budgets set counted_from = 'epoch',
                period_started_at = date_trunc(period, now() - ('1 ' || period)::interval, 'UTC') where key_id = $1`,
        [caller.keyId],
      )
      const third = await hold(caller, 1_000)
      expect(third.refusal).toBeUndefined()
      // A release of the last period does not reduce the usage of this one.
      await settle(caller, second.taskId, 900, 0)
      expect(await usedOf(caller)).toEqual({ [period]: 1_000 })
      await settle(caller, third.taskId, 1_000, 0)
      expect(await usedOf(caller)).toEqual({ [period]: 0 })
    },
  )

  test('the error names the first exceeded limit, in the order of the contract', async () => {
    const caller = await callerOf(await createAccount(database.postgres), { quotaMicros: 500 })
    await setKeyLimits(database.postgres, caller.keyId, {
      budgets: [
        { period: 'month', limitMicros: 300 },
        { period: 'hour', limitMicros: 400 },
      ],
    })
    const messageOf = async (amount: number) => (await hold(caller, amount)).refusal?.message
    expect(await messageOf(501)).toContain("key's quota")
    expect(await messageOf(401)).toContain('budget per hour')
    expect(await messageOf(301)).toContain('budget per month')
    expect(await messageOf(300)).toBeUndefined()
  })

  test('set on a key with open holds count from then on, and those holds still settle', async () => {
    const caller = await callerOf(await createAccount(database.postgres))
    const before = await hold(caller, 1_000)
    await setKeyLimits(database.postgres, caller.keyId, {
      quotaMicros: 5_000,
      budgets: [{ period: 'month', limitMicros: 5_000 }],
    })
    const after = await hold(caller, 2_000)
    await settle(caller, before.taskId, 1_000, 0)
    expect(await usedOf(caller)).toEqual({ ever: 2_000, month: 2_000 })
    // A changed limit keeps its used amount.
    await setKeyLimits(database.postgres, caller.keyId, {
      quotaMicros: 1,
      budgets: [{ period: 'month', limitMicros: 1 }],
    })
    expect(await usedOf(caller)).toEqual({ ever: 2_000, month: 2_000 })
    await settle(caller, after.taskId, 2_000, 500)
    expect(await usedOf(caller)).toEqual({ ever: 500, month: 500 })
    expect(await findingsAbout(caller.accountId, caller.keyId)).toEqual([])
  })

  test('the spend cap of an account counts held and captured amounts of all wallets in a month', async () => {
    const accountId = await createAccount(database.postgres)
    const payg = await callerOf(accountId)
    const first = await hold(payg, 400)
    await subscribed(accountId, { quota: 1_000 })
    const subscriber = await callerOf(accountId, { kind: 'subscription' })
    await hold(subscriber, 100)
    // A cap includes the spending before it was set.
    await database.postgres.query('update accounts set spend_cap_micros = 1000 where id = $1', [accountId])
    expect((await hold(payg, 501)).refusal).toMatchObject({
      code: 'quota_exceeded',
      message: expect.stringContaining('spend cap per month is too low: 0.0005 of 0.001 USD left') as string,
    })
    expect((await hold(subscriber, 500)).refusal).toBeUndefined()
    expect((await hold(payg, 1)).refusal).toMatchObject({ code: 'quota_exceeded' })
    await settle(payg, first.taskId, 400, 100)
    expect((await hold(payg, 300)).refusal).toBeUndefined()
    expect((await hold(payg, 1)).refusal).toMatchObject({ code: 'quota_exceeded' })

    // A new month.
    await database.postgres.query(
      `update balances set spent_since = (spent_since - interval '1 month')::date where account_id = $1`,
      [accountId],
    )
    expect((await hold(payg, 1_000)).refusal).toBeUndefined()
    expect((await hold(subscriber, 1)).refusal).toMatchObject({ code: 'quota_exceeded' })
  })

  test('concurrent holds of many keys never exceed a cap', async () => {
    const accountId = await createAccount(database.postgres)
    await database.postgres.query('update accounts set spend_cap_micros = 1000 where id = $1', [accountId])
    await subscribed(accountId, { quota: 10_000 })
    const callers = [await callerOf(accountId), await callerOf(accountId, { kind: 'subscription' })]
    const placed = await Promise.all(
      Array.from({ length: 40 }, (_, index) => hold(callers[index % 2] as Caller, 100)),
    )
    expect(placed.filter(({ refusal }) => refusal === undefined)).toHaveLength(10)
  })
})

/** Subscribes an account to a new plan. */
const subscribed = async (
  accountId: string,
  { quota, endsInDays = 365 }: { quota: number; endsInDays?: number },
): Promise<string> => {
  const planId = uuidV7()
  await database.postgres.query(
    'insert into plans (id, name, cycle_quota_micros, cycle_days) values ($1, $2, $3, 30)',
    [planId, `plan ${planId}`, quota],
  )
  await database.postgres.transaction((each) =>
    setSubscription(each, {
      accountId,
      planId,
      endsAt: new Date(Date.now() + endsInDays * dayMs),
      actor: 'a test',
    }),
  )
  return planId
}

/** Moves the subscription into the past by so many days. */
const passDays = (accountId: string, days: number) =>
  database.postgres.query(
    `update subscriptions set cycle_started_at = cycle_started_at - make_interval(days => $2),
            cycle_ends_at = cycle_ends_at - make_interval(days => $2), ends_at = ends_at - make_interval(days => $2)
      where account_id = $1`,
    [accountId, days],
  )

describe('cycles', () => {
  test('expire the rest and grant the quota once, also with several workers', async () => {
    const accountId = await createAccount(database.postgres)
    await subscribed(accountId, { quota: 1_000 })
    const caller = await callerOf(accountId, { kind: 'subscription' })
    const { taskId } = await hold(caller, 300)
    await settle(caller, taskId, 300, 300)
    await passDays(accountId, 31)
    await Promise.all(Array.from({ length: 4 }, () => renewCycles({ postgres: database.postgres, log })))
    expect(await movementsOf(accountId)).toEqual([
      ['grant', 1_000],
      ['expiry', -700],
      ['grant', 1_000],
    ])
    expect(await walletOf(accountId, 'subscription')).toMatchObject({ available: 1_000, held: 0 })
    const { rows } = await database.postgres.query<Record<string, unknown>>(
      `select cycle_started_at between now() - interval '25 hours' and now() - interval '23 hours' as "isSinceItsTime",
              cycle_ends_at - cycle_started_at = interval '30 days' as "isWhole"
         from subscriptions where account_id = $1`,
      [accountId],
    )
    expect(rows).toEqual([{ isSinceItsTime: true, isWhole: true }])
    expect(await findingsAbout(accountId)).toEqual([])
  })

  test('only the current cycle is granted if several were missed', async () => {
    const accountId = await createAccount(database.postgres)
    await subscribed(accountId, { quota: 1_000 })
    await passDays(accountId, 100)
    await renewCycles({ postgres: database.postgres, log })
    expect(await movementsOf(accountId)).toEqual([
      ['grant', 1_000],
      ['expiry', -1_000],
      ['grant', 1_000],
    ])
  })

  test('are renewed by the next request without a worker', async () => {
    const accountId = await createAccount(database.postgres)
    await subscribed(accountId, { quota: 1_000 })
    const caller = await callerOf(accountId, { kind: 'subscription' })
    await hold(caller, 1_000)
    expect((await hold(caller, 1_000)).refusal).toMatchObject({ code: 'quota_exceeded' })
    await passDays(accountId, 31)
    const placed = await Promise.all([hold(caller, 600), hold(caller, 600)])
    expect(placed.filter(({ refusal }) => refusal === undefined)).toHaveLength(1)
  })

  test('a release of an earlier cycle expires, and a release of the current cycle returns to the wallet', async () => {
    const accountId = await createAccount(database.postgres)
    await subscribed(accountId, { quota: 1_000 })
    const caller = await callerOf(accountId, { kind: 'subscription' })
    const [old, spent] = [await hold(caller, 300), await hold(caller, 200)]
    await passDays(accountId, 31)
    await renewCycles({ postgres: database.postgres, log })
    const fresh = await hold(caller, 400)
    expect(await walletOf(accountId, 'subscription')).toMatchObject({ available: 600, held: 900 })
    await settle(caller, old.taskId, 300, 0)
    await settle(caller, spent.taskId, 200, 150)
    expect(await walletOf(accountId, 'subscription')).toMatchObject({ available: 600, held: 400 })
    await settle(caller, fresh.taskId, 400, 100)
    expect(await walletOf(accountId, 'subscription')).toMatchObject({ available: 900, held: 0 })
    expect(await findingsAbout(accountId, old.taskId, spent.taskId)).toEqual([])
  })

  test('end with the subscription: its keys are refused at once, the rest expires, and nothing more is granted', async () => {
    const accountId = await createAccount(database.postgres)
    await subscribed(accountId, { quota: 1_000, endsInDays: 45 })
    const caller = await callerOf(accountId, { kind: 'subscription' })
    const { taskId } = await hold(caller, 100)
    await passDays(accountId, 46)
    expect((await hold(caller, 1)).refusal).toMatchObject({ code: 'subscription_expired' })
    await renewCycles({ postgres: database.postgres, log })
    await renewCycles({ postgres: database.postgres, log })
    expect(await movementsOf(accountId)).toEqual([
      ['grant', 1_000],
      ['expiry', -900],
    ])
    await settle(caller, taskId, 100, 0)
    expect(await walletOf(accountId, 'subscription')).toMatchObject({ available: 0, held: 0 })
    // The account can subscribe again.
    await subscribed(accountId, { quota: 50 })
    expect((await hold(caller, 50)).refusal).toBeUndefined()
  })

  test('the same plan keeps its cycle with a new end; another plan starts a new cycle at once', async () => {
    const accountId = await createAccount(database.postgres)
    const planId = await subscribed(accountId, { quota: 1_000 })
    const endsAt = new Date(Date.now() + 90 * dayMs)
    const set = (id: string) =>
      database.postgres.transaction((each) =>
        setSubscription(each, { accountId, planId: id, endsAt, actor: 'a test' }),
      )
    expect(await set(planId)).toMatchObject({ endsAt, cycleQuotaMicros: 1_000 })
    expect(await movementsOf(accountId)).toEqual([['grant', 1_000]])
    const other = await createAccount(database.postgres)
    expect(await set(await subscribed(other, { quota: 20 }))).toMatchObject({ cycleQuotaMicros: 20 })
    expect(await walletOf(accountId, 'subscription')).toMatchObject({ available: 20 })

    const ended = await database.postgres.transaction((each) =>
      endSubscription(each, { accountId, actor: 'a test' }),
    )
    expect(ended.endsAt.getTime()).toBeLessThanOrEqual(Date.now())
    expect(await walletOf(accountId, 'subscription')).toMatchObject({ available: 0 })
    await expect(
      database.postgres.transaction((each) => endSubscription(each, { accountId, actor: 'a test' })),
    ).rejects.toMatchObject({ code: 'resource_not_found' })
    await expect(set(uuidV7())).rejects.toMatchObject({ code: 'resource_not_found', param: 'plan_id' })
  })
})

describe('prices', () => {
  const catalog = referenceCatalog()
  const model = catalog.videoModelFor('/v1/videos', 'vidB-2')
  const video = { seconds: 10, width: 1280, height: 720 }
  const setPrice = (price: Partial<SetPrice>) =>
    insertPrice(database.postgres, {
      ...{ id: uuidV7(), model: model.id, unit: 'second', unitMicros: 7, actor: 'a test' },
      ...{ resolution: null, sound: null, input: null },
      ...{ startsAt: new Date(Date.now() - 1_000), ...price },
    })

  test('a price set by an operator overrides the catalog in every process at once, and is recorded with its version', async () => {
    const lists = await withoutIntervals(() =>
      Promise.all([1, 2].map(() => createPriceList({ postgres: database.postgres, catalog, log }))),
    )
    const unitMicros = model.prices[0]?.unitMicros ?? 0
    const priceOfVideo = (list: (typeof lists)[number], { seconds, ...size }: typeof video) => {
      const [line, ...others] = list.pricesOf(model)({ counted: { second: seconds, call: 1 }, ...size })
      expect(others).toEqual([])
      return line
    }
    for (const list of lists) {
      expect(priceOfVideo(list, video)).toEqual({
        ...{ unit: 'second', unitMicros, quantity: 10, totalMicros: unitMicros * 10 },
      })
    }
    const list = lists[0] ?? expect.fail()
    const totals = () => lists.map((list) => priceOfVideo(list, video))
    await setPrice({ unitMicros: 7 })
    await expect
      .poll(totals)
      .toEqual([1, 2].map(() => expect.objectContaining({ totalMicros: 70, version: 1 })))
    await setPrice({ unitMicros: 9, startsAt: new Date(Date.now() + dayMs) })
    await setPrice({ unitMicros: 5, resolution: '1280x720' })
    await expect
      .poll(totals)
      .toEqual([1, 2].map(() => expect.objectContaining({ totalMicros: 50, version: 1 })))
    expect(priceOfVideo(list, { ...video, width: 720, height: 1280 })?.totalMicros).toBe(70)
    await setPrice({ unit: 'call', unitMicros: 1_234, startsAt: new Date() })
    await expect
      .poll(() => priceOfVideo(list, { ...video, width: 720, height: 1280 }))
      .toEqual({ unit: 'call', unitMicros: 1_234, quantity: 1, totalMicros: 1_234, version: 1 })
    const ofModel = lists[0]?.inForce().filter((price) => price.model === model.id)
    expect(ofModel).toMatchObject([
      { unit: 'call', resolution: null, unitMicros: 1_234, source: 'operator' },
      { unit: 'second', resolution: '1280x720', unitMicros: 5, source: 'operator' },
    ])
    expect(lists[0]?.all().filter((price) => price.model === model.id)).toHaveLength(4)
    for (const list of lists) await list.stop()
  })

  test('concurrently set prices get consecutive versions', async () => {
    const set = await Promise.all(
      Array.from({ length: 10 }, (_, unitMicros) =>
        database.postgres.transaction((each) =>
          insertPrice(each, {
            ...{
              id: uuidV7(),
              model: 'asr-1',
              unit: 'minute',
              ...{ resolution: null, sound: null, input: null },
              unitMicros,
              actor: 'a test',
            },
            startsAt: new Date(),
          }),
        ),
      ),
    )
    expect(set.map(({ version }) => version).toSorted((a, b) => a - b)).toEqual([
      1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
    ])
  })

  test('take effect at their start, and the one that started last applies', () => {
    const price = (unitMicros: number, startsAtMs: number, version: number): SetPrice => ({
      ...{ id: '', model: '', unit: 'minute', unitMicros, version, actor: '' },
      ...{ resolution: null, sound: null, input: null },
      startsAt: new Date(startsAtMs),
    })
    const prices = [price(1, 0, 1), price(2, 2_000, 2), price(3, 1_000, 3), price(4, 1_000, 4)]
    const at = (nowMs: number) => startedPrices(prices, nowMs)[0]?.unitMicros
    expect([-1, 0, 999, 1_000, 1_999, 2_000, 9_999].map(at)).toEqual([undefined, 1, 1, 4, 4, 2, 2])
  })
})

describe('holds of one account', () => {
  test.each([
    ['of one wallet', { isFunded: true, kinds: ['payg', 'payg'] }],
    ['of two wallets', { isFunded: true, kinds: ['payg', 'subscription'] }],
    ['without a wallet', { isFunded: false, kinds: ['payg', 'payg'] }],
  ] as const)('%s follow one another, and their times do', async (_, { isFunded, kinds }) => {
    const { postgres } = database
    const accountId = isFunded ? await createAccount(postgres) : uuidV7()
    if (isFunded) await subscribe(postgres, accountId)
    else await insertAccount(postgres, { id: accountId, name: 'never paid' })
    const [first, second] = [
      await callerOf(accountId, { kind: kinds[0] }),
      await callerOf(accountId, { kind: kinds[1] }),
    ]
    const holdNothing = (caller: Caller) => (within: Database) =>
      placeHolds(within, [{ caller, taskAt: () => ({ id: `req_${uuidV7()}`, day }), amountMicros: 0 }])
    let later: ReturnType<typeof placeHolds> | undefined
    const earlier = await postgres.transaction(async (within) => {
      const placed = await holdNothing(first)(within)
      later = postgres.transaction(holdNothing(second))
      const waiting = `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      await expect
        .poll(async () => (await postgres.query<{ count: number }>(waiting)).rows[0]?.count)
        .toBeGreaterThan(0)
      return placed
    })
    expect((await later)?.refusals).toEqual([undefined])
    expect((await later)?.atMs).toBeGreaterThan(earlier.atMs)
  })
})

describe('receipts', () => {
  test('contain the held, captured and released amounts of the ledger, for their account only', async () => {
    const accountId = await createAccount(database.postgres)
    const { keyId } = await callerOf(accountId)
    const { id } = await acceptedAt(database.postgres, { accountId, keyId }, new Date())
    const open = await readReceipt(database.postgres, { id, currency: 'EUR', accountId })
    expect(open?.charged).toMatchObject({ provider: 'vendor', costMicros: null })
    expect(open?.receipt).toEqual({
      ...{ object: 'receipt', id, model: 'vidB-2', status: 'pending', hold_micros: 400_000 },
      lines: [
        {
          ...{ unit: 'second', unit_micros: 100_000, quantity: '4', unit_size: 1 },
          ...{ total_micros: 400_000, currency: 'EUR' },
        },
      ],
      ...{ captured_micros: null, released_micros: null, refunded_micros: 0, currency: 'EUR' },
      entries: [
        {
          ...{ movement: 'hold', amount_micros: 400_000, currency: 'EUR' },
          created_at: expect.any(Number) as number,
        },
      ],
    })
    expect(await readReceipt(database.postgres, { id, currency: 'EUR' })).toEqual(open)
    const other = await createAccount(database.postgres)
    expect(await readReceipt(database.postgres, { id, currency: 'EUR', accountId: other })).toBeUndefined()
    for (const unknown of ['', 'x', `req_${uuidV7()}`, 'req_ffffffff-ffff-7fff-bfff-ffffffffffff']) {
      expect(
        await readReceipt(database.postgres, { id: unknown, currency: 'EUR', accountId }),
      ).toBeUndefined()
    }
  })
})

describe('the ledger audit', () => {
  test('a full and an incremental audit find each broken invariant, and nothing after the repair', async () => {
    await using own = await createDatabase()
    const { postgres } = own
    const accountId = await createAccount(postgres)
    const { id: keyId } = await createKey(postgres, accountId, { quotaMicros: 9_000_000 })
    const { id, day: dayOfTask } = await acceptedAt(postgres, { accountId, keyId }, new Date())
    const tampered: [string, string, string][] = [
      [
        'balances_match_legs',
        'update balances set available_micros = available_micros + 1',
        'update balances set available_micros = available_micros - 1',
      ],
      [
        'held_equals_open_holds',
        `update balances set held_micros = held_micros + 1`,
        `update balances set held_micros = held_micros - 1`,
      ],
      [
        'ledger_sum_zero',
        `update ledger_entries set amount_micros = amount_micros + 1 where task_id = '${id}' and book = 'available'`,
        `update ledger_entries set amount_micros = amount_micros - 1 where task_id = '${id}' and book = 'available'`,
      ],
      [
        'capture_at_most_hold',
        `insert into ledger_entries (day, account_id, wallet, task_id, movement, book, amount_micros)
         select day, account_id, wallet, task_id, 'capture', b.book, b.sign * 400001
           from ledger_entries, (values ('held', -1), ('revenue', 1)) b (book, sign)
          where task_id = '${id}' and movement = 'hold' and ledger_entries.book = 'held'`,
        `delete from ledger_entries where task_id = '${id}' and movement = 'capture'`,
      ],
      [
        'record_matches_ledger',
        `update video_tasks set hold_micros = hold_micros + 1 where id = '${id}'`,
        `update video_tasks set hold_micros = hold_micros - 1 where id = '${id}'`,
      ],
      [
        'no_hold_on_finished',
        `update video_tasks set state = 'failed', finished_at = now(), error_code = 'x' where id = '${id}'`,
        `update video_tasks set state = 'pending', finished_at = null, error_code = null where id = '${id}'`,
      ],
    ]
    const onlyWhole: [string, string, string][] = [
      [
        'key_usage_matches',
        'update key_quotas set used_micros = used_micros + 1',
        'update key_quotas set used_micros = used_micros - 1',
      ],
      [
        'monthly_spending_matches',
        'update balances set spent_micros = spent_micros + 1',
        'update balances set spent_micros = spent_micros - 1',
      ],
    ]
    const broken = ({ findings }: Awaited<ReturnType<typeof runFullAudit>>) =>
      findings.flatMap(({ invariant, violations }) => (violations > 0 ? invariant : []))
    const clean = await runFullAudit(postgres)
    expect(broken(clean)).toEqual([])
    expect(isSound(clean.findings)).toBe(true)
    expect(dayOfTask).toBe(day)
    for (const [invariant, harm, mend] of tampered) {
      await postgres.query(harm)
      expect(broken(await runIncrementalAudit(postgres))).toContain(invariant)
      expect(broken(await runFullAudit(postgres))).toContain(invariant)
      await postgres.query(mend)
      expect(broken(await runFullAudit(postgres))).toEqual([])
    }
    for (const [invariant, harm, mend] of onlyWhole) {
      await postgres.query(harm)
      const found = await runFullAudit(postgres)
      expect(broken(found)).toEqual([invariant])
      expect(found.findings.find((each) => each.invariant === invariant)).toMatchObject({
        violations: 1,
        examples: [expect.stringMatching(new RegExp(`${keyId}|${accountId}`))],
      })
      // Findings that only a full audit can make stay until the next full audit.
      expect(broken(await runIncrementalAudit(postgres))).toEqual([invariant])
      await postgres.query(mend)
      expect(broken(await runFullAudit(postgres))).toEqual([])
    }
  })

  test('an incremental audit starts from the checkpoints and logs a finding once', async () => {
    await using own = await createDatabase()
    const { postgres } = own
    const accountId = await createAccount(postgres)
    await runFullAudit(postgres)
    const { id: keyId } = await createKey(postgres, accountId)
    await acceptedAt(postgres, { accountId, keyId }, new Date())
    await createAccount(postgres)
    expect(isSound((await runIncrementalAudit(postgres)).findings)).toBe(true)
    await postgres.query(
      'update balances set available_micros = available_micros - 1 where account_id = $1',
      [accountId],
    )
    const cries: unknown[] = []
    const loud = { ...log, error: (finding: unknown) => cries.push(finding) } as unknown as Log
    const turn = createAuditTick({ postgres, log: loud }, 0)
    await turn()
    await turn()
    expect(cries).toEqual([
      expect.objectContaining({
        invariant: 'balances_match_legs',
        violations: 1,
        examples: [`${accountId} payg`],
      }),
    ])
  })
})
