/**
 * Random histories of accounts with money, limits, or a subscription: tasks are created, completed, failed, cancelled,
 * and retried; requests are metered, settled, and abandoned; charges are refunded; prices change; money is added and removed; cycles end. Any
 * transaction may fail between two statements or after its commit, and is then repeated as the service would. The
 * histories call the production functions, many of them in one transaction. A simple model computes the expected ledger.
 *
 * The same seed gives the same histories: LEDGER_SEED=… LEDGER_HISTORIES=… npx vitest run <this file>
 */
import { ApiError } from '@kinora/contract/errors'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { crashing, isCrash, randomOf, type CrashPlan } from '../../../test/kit/crashes.ts'
import { createDatabase, type TestDatabase } from '../../../test/kit/database.ts'
import { referenceCatalog } from '../../../test/kit/reference-catalog.ts'
import { vendorKey } from '../../../test/kit/vendor-gateway.ts'
import { vendorRouter } from '../../../test/kit/vendor-providers.ts'
import type { Caller } from '../../auth/caller.ts'
import { uuidV7 } from '../../platform/ids/uuid.ts'
import { createLog, type Log } from '../../platform/log.ts'
import type { Postgres } from '../../platform/postgres.ts'
import { insertStoredFiles } from '../../storage/stored-file-store.ts'
import { finishAndSettle } from '../../videos/lifecycle/settle-video.ts'
import { createAdmitVideo, type AdmitVideo } from '../../videos/queue/admit-video.ts'
import { queueDefaults } from '../../videos/queue/queue-limits.ts'
import type { Ending } from '../../videos/task.ts'
import { createMeter, type Meter, type Metered } from '../metering/meter.ts'
import { createPriceList, type PriceList } from '../prices/price-list.ts'
import { insertPrice } from '../prices/price-store.ts'
import { priceOf, totalOf } from '../prices/price.ts'
import { refund } from '../spending/refund.ts'
import { renewCycles } from '../subscriptions/subscriptions.ts'
import { runIncrementalAudit, runFullAudit } from './audit-ledger.ts'
import { postMovements } from './ledger-store.ts'
import { adjust, topUp } from './movements.ts'

const seed = Number(process.env['LEDGER_SEED'] ?? Math.floor(Math.random() * 1_000_000_000))
const count = Number(process.env['LEDGER_HISTORIES'] ?? 1_000)
const rounds = 5
const lanes = 3
const together = 100
const crashChance = 0.03
const cycleQuota = 2_000
const modelId = 'vidA2-fast'

/** A task or request that holds money. */
interface Open {
  id: string
  day: string
  hold: number
  /** The cycle of the hold. */
  cycle: number
  metered?: Metered | undefined
}

/** What was captured for a task or request, and how much of that was refunded. */
interface Charged {
  id: string
  captured: number
  refunded: number
}

interface History {
  random: () => number
  caller: Caller
  quota: number | undefined
  budget: number | undefined
  cap: number | undefined
  /** The expected amounts. */
  available: number
  held: number
  /** Captures minus refunds. */
  revenue: number
  charges: Charged[]
  cycle: number
  /** Its cycle has ended and was not renewed yet. */
  isDue: boolean
  /** The state before the last attempted hold renewed the cycle. */
  beforeRenewal: { cycle: number; available: number } | undefined
  tasks: Open[]
  requests: Open[]
  /** Seconds of the last failed task, to be retried. */
  failedSeconds: number | undefined
  known: Set<string>
}

interface Lane {
  histories: History[]
  random: () => number
  plan: CrashPlan
  postgres: Postgres
  admitVideo: AdmitVideo
  meter: Meter
  /** Requests whose end could not be written or confirmed. */
  unsettled: Set<string>
}

let database: TestDatabase
let prices: PriceList
let router: Awaited<ReturnType<typeof vendorRouter>>
const catalog = referenceCatalog()
const model = catalog.videoModelFor('/v1/video/create', modelId)
const silent = createLog({ level: 'silent' }, 'test')
const tally = {
  ...{ creates: 0, refusals: 0, ends: 0, metered: 0, movements: 0, refunds: 0, cycles: 0, crashes: 0 },
}
let isCalm = false

beforeAll(async () => {
  database = await createDatabase()
  const { pathname } = new URL(database.url)
  await database.postgres.query(`alter database ${pathname.slice(1)} set synchronous_commit = off`)
  prices = await createPriceList({ postgres: database.postgres, catalog, log: silent })
  router = await vendorRouter({ url: 'http://127.0.0.1:9' }, vendorKey, database.postgres)
})
afterAll(async () => {
  await router.stop()
  await prices.stop()
  await database[Symbol.asyncDispose]()
})

const between = (random: () => number, least: number, most: number) =>
  least + Math.floor(random() * (most - least + 1))
const chunks = <Item>(items: Item[], size: number): Item[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, at) => items.slice(at * size, (at + 1) * size))

const newHistory = (index: number): History => {
  const random = randomOf(seed * 31 + index)
  const kind = random() < 0.25 ? 'subscription' : 'payg'
  const traits = random()
  const quota = traits < 0.3 ? between(random, 0, 3_000) : undefined
  const budget = traits >= 0.3 && traits < 0.5 ? between(random, 0, 2_000) : undefined
  const cap = traits >= 0.5 && traits < 0.6 ? between(random, 0, 2_000) : undefined
  return {
    ...{ random, quota, budget, cap, held: 0, revenue: 0, cycle: 0, isDue: false, tasks: [], requests: [] },
    charges: [],
    available: kind === 'payg' ? between(random, 0, 4_000) : cycleQuota,
    failedSeconds: undefined,
    beforeRenewal: undefined,
    known: new Set(),
    caller: {
      ...{ keyId: uuidV7(), accountId: uuidV7(), kind, scopes: [], models: undefined, addresses: undefined },
      ...{ requestsPerMinute: undefined, limits: {}, dialect: 'reference' },
      hasQuota: quota !== undefined || budget !== undefined,
      currency: 'USD',
    },
  }
}

/** Creates the accounts, keys, limits, and initial balances. */
const found = async (histories: History[]): Promise<void> => {
  const planId = uuidV7()
  await database.postgres.query(
    `insert into plans (id, name, cycle_quota_micros, cycle_days) values ($1, 'a plan', $2, 30)`,
    [planId, cycleQuota],
  )
  const rows = JSON.stringify(
    histories.map(({ caller: { accountId, keyId, kind }, quota, budget, cap }) => {
      return { accountId, keyId, kind, quota, budget, cap }
    }),
  )
  await database.postgres.query(
    `with given as (
       select * from jsonb_to_recordset($1::jsonb) as h
         ("accountId" uuid, "keyId" uuid, kind text, quota bigint, budget bigint, cap bigint)
     ), accounts as (
       insert into accounts (id, name, spend_cap_micros) select "accountId", 'an account', cap from given
     ), keys as (
       insert into keys (id, account_id, kind, name, hash, hint)
       select "keyId", "accountId", kind, 'a key', uuid_send("keyId"), '' from given
     ), quotas as (
       insert into key_quotas (key_id, quota_micros) select "keyId", quota from given where quota is not null
     ), budgets as (
       insert into key_budgets (key_id, period, limit_micros)
       select "keyId", 'month', budget from given where budget is not null
     ), subscriptions as (
       insert into subscriptions (account_id, plan_id, cycle_started_at, cycle_ends_at, ends_at)
       select "accountId", $2, now(), now() + interval '30 days', now() + interval '900 days'
         from given where kind = 'subscription'
     )
     insert into balances (account_id, wallet) select "accountId", kind from given`,
    [rows, planId],
  )
  const day = new Date().toISOString().slice(0, 10)
  for (const some of chunks(histories, 1_000)) {
    await postMovements(
      database.postgres,
      some.map(({ caller: { accountId, kind }, available }) => ({
        ...{ kind: kind === 'payg' ? 'top_up' : 'grant', accountId, wallet: kind, taskId: null, day },
        amountMicros: available,
      })),
    )
  }
}

const newLane = (histories: History[], number: number): Lane => {
  const random = randomOf(seed * 17 + number)
  const plan: CrashPlan = () => {
    if (isCalm || random() >= crashChance) return undefined
    tally.crashes += 1
    return random() < 0.3 ? 'after-commit' : { beforeStatement: between(random, 0, 8) }
  }
  const postgres = crashing(database.postgres, plan)
  const unsettled = new Set<string>()
  const log = {
    ...{ warn: () => undefined, info: () => undefined, debug: () => undefined },
    error: ({ request }: { request: string }) => unsettled.add(request),
  } as unknown as Log
  return {
    ...{ histories, random, plan, postgres, unsettled },
    meter: createMeter({ postgres, log }, { leaseSeconds: 3_600, extendEveryMs: 3_600_000 }),
    admitVideo: createAdmitVideo({
      assignWebhooks: () => Promise.resolve([]),
      ...{ postgres, router, prices, deadlineMs: 3_600_000, queueLimits: () => queueDefaults },
      wakeDispatcher: () => undefined,
      queueOverload: { refusalAt: () => undefined, add: () => undefined },
      countWaiting: () => () => undefined,
      namedCharacters: async () => [],
      storeResponses: async () => undefined,
    }),
  }
}

/** The next attempted hold renews an ended cycle. */
const renewedByHold = (history: History) => {
  history.beforeRenewal = history.isDue ? { cycle: history.cycle, available: history.available } : undefined
  if (history.isDue) renewed(history)
}

/** A hold that was rolled back has not renewed the cycle, so movements before the next hold expire with it. */
const undoLostRenewals = async (lost: History[]) => {
  const { rows } = await database.postgres.query<{ accountId: string }>(
    `select account_id as "accountId" from subscriptions where account_id = any($1) and cycle_ends_at <= now()`,
    [lost.map(({ caller }) => caller.accountId)],
  )
  const due = new Set(rows.map(({ accountId }) => accountId))
  for (const history of lost) {
    if (history.beforeRenewal === undefined || !due.has(history.caller.accountId)) continue
    Object.assign(history, history.beforeRenewal, { isDue: true })
  }
}
const renewed = (history: History) => {
  history.isDue = false
  history.cycle += 1
  history.available = cycleQuota
}

/** The used amounts of limits: everything held or captured. */
const used = ({ held, revenue }: History) => held + revenue

const expectedRefusal = (history: History, amount: number): string | undefined => {
  const limit = Math.min(history.quota ?? Infinity, history.budget ?? Infinity, history.cap ?? Infinity)
  if (used(history) + amount > limit) return 'quota_exceeded'
  if (amount <= history.available) return undefined
  return history.caller.kind === 'subscription' ? 'quota_exceeded' : 'insufficient_balance'
}

const held = (history: History, open: Open): Open => {
  history.available -= open.hold
  history.held += open.hold
  history.known.add(open.id)
  return open
}

/** The end of a hold: the rest is released, except for a hold of an earlier cycle. */
const ended = (history: History, { id, hold, cycle }: Open, captured: number) => {
  if (captured > 0) history.charges.push({ id, captured, refunded: 0 })
  history.held -= hold
  history.revenue += captured
  if (cycle === history.cycle) history.available += hold - captured
}

/** State that is only in the database, because a crash lost it or kept its commit from being confirmed. */
const findUnknown = async (histories: History[], table: 'video_tasks' | 'metered_requests') => {
  const byAccount = new Map(histories.map((history) => [history.caller.accountId, history]))
  const { rows } = await database.postgres.query<{
    accountId: string
    id: string
    day: string
    hold: number
  }>(
    `select account_id as "accountId", id, day, hold_micros as hold from ${table} where account_id = any($1) order by id`,
    [[...byAccount.keys()]],
  )
  return rows.flatMap(({ accountId, ...open }) => {
    const history = byAccount.get(accountId)
    return history === undefined || history.known.has(open.id) ? [] : { history, open }
  })
}

const createTasks = async ({ admitVideo }: Lane, histories: History[]) => {
  for (const some of chunks(histories, together)) {
    const orders = some.map((history) => {
      renewedByHold(history)
      const seconds = history.failedSeconds ?? between(history.random, 1, 12)
      history.failedSeconds = undefined
      return {
        history,
        seconds,
        expected: expectedRefusal(history, totalOf(prices.pricesOf(model)(pricedWork(seconds)))),
      }
    })
    const results = await Promise.allSettled(
      orders.map(({ history: { caller }, seconds }) =>
        admitVideo({
          ...{ caller, model, createdVia: 'create', images: [] },
          order: { prompt: 'A whale', ...size(seconds), size: '', watermark: false, isPrivate: false },
        }),
      ),
    )
    const lost: History[] = []
    results.forEach((result, index) => {
      const { history, expected } = orders[index] as (typeof orders)[number]
      tally.creates += 1
      if (result.status === 'fulfilled') {
        expect(expected, 'a hold that should have been refused').toBeUndefined()
        const { id, day, holdMicros: hold } = result.value
        history.tasks.push(held(history, { id, day, hold, cycle: history.cycle }))
      } else if (isRefusal(result.reason)) {
        tally.refusals += 1
        expect(result.reason.code).toBe(expected)
      } else lost.push(history)
    })
    await undoLostRenewals(lost)
    for (const { history, open } of await findUnknown(lost, 'video_tasks')) {
      history.tasks.push(held(history, { ...open, cycle: history.cycle }))
    }
  }
}

const size = (seconds: number) => ({ seconds, width: 1280, height: 720 })
const pricedWork = (seconds: number) => ({ ...size(seconds), counted: { second: seconds, call: 1 } })
const isRefusal = (reason: unknown): reason is ApiError => reason instanceof ApiError

/** Repeats a step until it is confirmed; sometimes delivers it once more anyway. */
const delivered = async (lane: Lane, work: (postgres: Postgres) => Promise<void>): Promise<void> => {
  for (;;) {
    try {
      await work(lane.postgres)
      if (isCalm || lane.random() >= 0.2) return
    } catch (error) {
      if (!isCrash(error)) throw error
    }
  }
}

/** The file of every completed task. */
const video = uuidV7()

const endTasks = async (lane: Lane, histories: History[]) => {
  for (const some of chunks(histories, together)) {
    const endings = some.flatMap((history) => {
      const [task] = history.tasks.splice(between(history.random, 0, history.tasks.length - 1), 1)
      if (task === undefined) return []
      const isCompleted = history.random() < 0.55
      const ending: Ending = isCompleted
        ? { kind: 'completed', mediaId: video }
        : { kind: 'failed', code: history.random() < 0.5 ? 'task_cancelled' : 'upstream_error', message: '' }
      return { history, task, ending }
    })
    await delivered(lane, (postgres) =>
      postgres.transaction(async (each) => {
        await finishAndSettle(
          each,
          endings.map(({ task, ending }) => ({ ...task, ending })),
        )
      }),
    )
    for (const { history, task, ending } of endings) {
      tally.ends += 1
      ended(history, task, ending.kind === 'completed' ? task.hold : 0)
      if (ending.kind === 'failed') history.failedSeconds = between(history.random, 1, 12)
    }
  }
}

const characters = (amount: number) => [priceOf('million_characters', 1_000_000, amount)]

const openRequests = async ({ meter }: Lane, histories: History[]) => {
  for (const some of chunks(histories, together)) {
    const orders = some.map((history) => {
      renewedByHold(history)
      const amount = between(history.random, 0, 900)
      return { history, amount, expected: expectedRefusal(history, amount) }
    })
    const results = await Promise.allSettled(
      orders.map(({ history: { caller }, amount }) =>
        meter.open({
          caller,
          operation: 'createSpeech',
          model: { id: 'm', name: 'm' },
          provider: 'p',
          heldFor: characters(amount),
        }),
      ),
    )
    const lost: History[] = []
    const day = new Date().toISOString().slice(0, 10)
    results.forEach((result, index) => {
      const { history, amount, expected } = orders[index] as (typeof orders)[number]
      tally.metered += 1
      if (result.status === 'fulfilled') {
        expect(expected, 'a hold that should have been refused').toBeUndefined()
        const { cycle } = history
        const open = { id: result.value.id, day, hold: amount, cycle, metered: result.value }
        history.requests.push(held(history, open))
      } else if (isRefusal(result.reason)) expect(result.reason.code).toBe(expected)
      else lost.push(history)
    })
    await undoLostRenewals(lost)
    // These are abandoned: their leases expire.
    for (const { history, open } of await findUnknown(lost, 'metered_requests')) {
      history.requests.push(held(history, { ...open, cycle: history.cycle }))
    }
  }
}

const settleRequests = async ({ unsettled, meter }: Lane, histories: History[]) => {
  for (const some of chunks(histories, together)) {
    const endings = some.flatMap((history) => {
      const [request] = history.requests.splice(0, 1)
      if (request === undefined) return []
      // Usage beyond the hold is not charged.
      const captured = Math.min(request.hold, between(history.random, 0, 1_000))
      const isForgotten = request.metered === undefined || history.random() < 0.2
      return { history, request, captured: isForgotten ? 0 : captured, isForgotten }
    })
    await Promise.all(
      endings.flatMap(({ request: { metered }, captured, isForgotten }) =>
        isForgotten || metered === undefined ? [] : [metered.settle('completed', characters(captured))],
      ),
    )
    const forgotten = endings.flatMap(({ request, isForgotten }) => (isForgotten ? request.id : []))
    await database.postgres.query(
      `update metered_requests set lease_expires_at = now() - interval '1 second' where day >= current_date - 1 and id = any($1)`,
      [forgotten],
    )
    await lapse(meter)
    const { rows } = await database.postgres.query<{ id: string }>(
      `select id from metered_requests where day >= current_date - 1 and id = any($1) and outcome = 'open'`,
      [[...unsettled]],
    )
    const stillOpen = new Set(rows.map(({ id }) => id))
    for (const { history, request, captured } of endings) {
      // An unwritten end is retried when the meter closes.
      if (stillOpen.has(request.id)) late.push({ history, request, captured })
      else ended(history, request, captured)
    }
  }
}
const late: { history: History; request: Open; captured: number }[] = []

/** Releases abandoned requests until none is left; a failed tick is followed by the next. */
const lapse = async (meter: Meter) => {
  for (;;) {
    try {
      if ((await meter.releaseAbandoned()) === 0) return
    } catch (error) {
      if (!isCrash(error)) throw error
    }
  }
}

const moveMoney = async (lane: Lane, histories: History[], round: number) => {
  for (const some of chunks(histories, together)) {
    const orders = some.map((history) => {
      const { accountId, kind } = history.caller
      const amountMicros =
        history.random() < 0.5
          ? between(history.random, 1, 1_500)
          : -Math.min(history.available, between(history.random, 0, 900))
      return { history, move: amountMicros > 0 ? topUp : adjust, accountId, wallet: kind, amountMicros }
    })
    await delivered(lane, (postgres) =>
      postgres.transaction(async (each) => {
        for (const { move, history: _, ...order } of orders) {
          await move(each, {
            ...{ ...order, currency: 'USD', actor: 'a test', reason: 'a test', reference: `round ${round}` },
          })
        }
      }),
    )
    for (const { history, amountMicros } of orders) {
      tally.movements += 1
      history.available += amountMicros
    }
  }
}

/** Refunds a part of a charge, all of what is left, or too much, which is refused. */
const refundCharges = async (lane: Lane, histories: History[], round: number) => {
  for (const some of chunks(histories, together)) {
    const orders = some.flatMap((history) => {
      const { charges, random } = history
      const charge = charges[between(random, 0, charges.length - 1)]
      if (charge === undefined) return []
      const left = charge.captured - charge.refunded
      const amountMicros = random() < 0.3 ? undefined : between(random, 1, charge.captured)
      return {
        history,
        charge,
        amount: amountMicros ?? left,
        amountMicros,
        isRefused: (amountMicros ?? left) > left || left === 0,
      }
    })
    await delivered(lane, (postgres) =>
      postgres.transaction(async (each) => {
        for (const { charge, amountMicros, isRefused } of orders) {
          const made = await refund(each, {
            ...{ taskId: charge.id, amountMicros, currency: 'USD', actor: 'a test', reason: 'a test' },
            reference: `round ${round}`,
          }).catch((error: unknown) => error)
          if (isCrash(made)) throw made
          if (isRefused) expect(made).toMatchObject({ code: 'conflict' })
          else if (made instanceof Error) throw made
        }
      }),
    )
    for (const { history, charge, amount, isRefused } of orders) {
      if (isRefused) continue
      tally.refunds += 1
      // A refund starts a due cycle, like a hold.
      if (history.isDue) renewed(history)
      charge.refunded += amount
      history.revenue -= amount
      history.available += amount
    }
  }
}

/** One step of each history of a lane, grouped by kind. */
const takeRound = async (lane: Lane, round: number) => {
  const steps = new Map<string, History[]>()
  for (const history of lane.histories) {
    const chance = history.random()
    const isRefunded = history.charges.length > 0 && history.random() < 0.25
    const kind = isRefunded
      ? 'refund'
      : chance < 0.34 || (chance < 0.66 && history.tasks.length === 0)
        ? 'create'
        : chance < 0.66
          ? 'end'
          : chance < 0.8 || (chance < 0.95 && history.requests.length === 0)
            ? 'open'
            : chance < 0.95
              ? 'settle'
              : 'move'
    steps.set(kind, [...(steps.get(kind) ?? []), history])
  }
  const of = (kind: string) => steps.get(kind) ?? []
  await createTasks(lane, of('create'))
  await endTasks(lane, of('end'))
  await openRequests(lane, of('open'))
  await settleRequests(lane, of('settle'))
  await moveMoney(lane, of('move'), round)
  await refundCharges(lane, of('refund'), round)
}

/** Ends the cycles of some accounts. Two workers renew some of them concurrently; the next hold renews the others. */
const passCycles = async (all: Lane[], random: () => number) => {
  const histories = all.flatMap((lane) => lane.histories)
  const due = histories.filter((history) => history.caller.kind === 'subscription' && random() < 0.08)
  await database.postgres.query(
    `update subscriptions set cycle_started_at = cycle_started_at - interval '31 days',
            cycle_ends_at = cycle_ends_at - interval '31 days' where account_id = any($1)`,
    [due.map(({ caller }) => caller.accountId)],
  )
  for (const history of due) history.isDue = true
  tally.cycles += due.length
  if (random() < 0.5) return
  await Promise.all(all.slice(0, 2).map(({ postgres }) => renewCycles({ postgres, log: silent })))
  await renewCycles({ postgres: database.postgres, log: silent })
  for (const history of histories) if (history.isDue) renewed(history)
}

test(
  `${count} random histories keep their books, whatever dies (LEDGER_SEED=${seed})`,
  { timeout: 1_800_000 },
  async () => {
    const histories = Array.from({ length: count }, (_, index) => newHistory(index))
    await found(histories)
    await insertStoredFiles(database.postgres, [
      {
        ...{ id: video, accountId: uuidV7(), taskId: 'of all tasks', kind: 'video', storageKey: 'none' },
        ...{
          contentType: 'video/mp4',
          sizeBytes: 1,
          sha256: '00',
          width: 1,
          height: 1,
          durationMs: 1,
          expiresAt: null,
        },
      },
    ])
    const perLane = Math.ceil(count / lanes)
    const all = chunks(histories, perLane).map((some, number) => newLane(some, number))
    const random = randomOf(seed)
    await runFullAudit(database.postgres)
    for (let round = 0; round < rounds; round += 1) {
      // Open tasks keep the price of their order.
      await insertPrice(database.postgres, {
        ...{ id: uuidV7(), model: modelId, unit: round === 2 ? 'call' : 'second' },
        ...{ resolution: null, sound: null, input: null },
        ...{ unitMicros: between(random, 20, 120), startsAt: new Date(Date.now() - 1), actor: 'a test' },
      })
      await prices.refresh()
      await Promise.all(all.map((lane) => takeRound(lane, round)))
      await passCycles(all, random)
    }
    isCalm = true
    await Promise.all(all.map(({ meter }) => meter.close()))
    for (const { history, request, captured } of late) ended(history, request, captured)

    const recent = await runIncrementalAudit(database.postgres)
    const whole = await runFullAudit(database.postgres)
    for (const { findings } of [recent, whole]) {
      expect(findings.filter(({ violations }) => violations > 0)).toEqual([])
    }
    const { rows } = await database.postgres.query<Record<string, unknown>>(
      `select b.account_id as "accountId", b.available_micros as available, b.held_micros as held,
              coalesce(l.revenue, 0) as revenue, q.used_micros as "inQuota", k.used_micros as "inBudget",
              b.spent_micros as spent
         from balances b
         join keys on keys.account_id = b.account_id
         left join key_quotas q on q.key_id = keys.id
         left join key_budgets k on k.key_id = keys.id
         left join (select account_id, sum(amount_micros) as revenue from ledger_entries where book = 'revenue'
                     group by account_id) l on l.account_id = b.account_id`,
    )
    const books = new Map(rows.map((row) => [row['accountId'], row]))
    histories.forEach((history, index) => {
      const { caller, available, quota, budget } = history
      expect(books.get(caller.accountId), `history ${index} of seed ${seed}`).toEqual({
        ...{ accountId: caller.accountId, available, held: history.held, revenue: history.revenue },
        inQuota: quota === undefined ? null : used(history),
        inBudget: budget === undefined ? null : used(history),
        spent: used(history),
      })
    })
    process.stdout.write(`LEDGER_SEED=${seed} ${JSON.stringify({ histories: count, ...tally })}\n`)
    expect(tally.crashes).toBeGreaterThan(0)
    expect(tally.refunds).toBeGreaterThan(0)
  },
)
