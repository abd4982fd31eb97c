/**
 * Fairness of the queue when there is more work than slots. `npm run prove:fairness` runs it at full length.
 *
 * The cost of a flood is measured against an equal account, not against an idle service: ten small accounts run once
 * beside an eleventh that orders as much as each of them, and once beside one that floods. Both times the eleventh orders
 * everything first. The ten accounts should get ten elevenths of the slots in both cases, so their waits should hardly
 * differ. Waits are counted in starts of other tasks, which do not depend on the speed of the machine.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'

import { askJson } from '../kit/answers.ts'
import { createAccount, createKey } from '../kit/factories.ts'
import { startStack, type Stack } from '../kit/stack.ts'
import { minutes } from '../kit/time-limits.ts'

const floodCreates = Number(process.env['FLOOD_CREATES'] ?? 400)
const smallCreates = Number(process.env['SMALL_CREATES'] ?? 12)
const vendorDurationMs = 40
const withinMs = minutes(30)
const isFullLength = process.env['FLOOD_CREATES'] !== undefined

let stack: Stack

beforeAll(async () => {
  stack = await startStack({
    slots: 4,
    workers: 2,
    vendorDurationMs,
    providerSettings: { pollIntervalMsMin: 50, pollIntervalMsMax: 200 },
    secondProviderFor: 'vidB-2-pro',
  })
})
afterAll(() => stack[Symbol.asyncDispose]())

interface Account {
  id: string
  key: string
}

const newAccount = async (): Promise<Account> => {
  const { postgres } = stack.database
  const id = await createAccount(postgres, { balance: 100_000 })
  return { id, key: (await createKey(postgres, id)).text }
}

/** Orders `count` videos, with a few requests at a time. */
const order = async ({ id, key }: Account, count: number, model = 'vidB-2') => {
  let left = count
  const createNext = async () => {
    while (left > 0) {
      left -= 1
      const body = { model, prompt: `A whale for ${id}`, seconds: '4', size: '480x480' }
      const answer = await askJson(`${stack.url}/v1/videos`, key, body)
      if (answer.status !== 200) throw new Error(`a create failed: ${JSON.stringify(answer)}`)
    }
  }
  await Promise.all(Array.from({ length: Math.min(20, count) }, createNext))
}

/** Waits until these accounts have no open tasks. The cost of the query does not depend on the length of the queue. */
const untilServed = async (accounts: Account[], observe?: () => Promise<void>) => {
  await stack.until(
    'all their tasks have ended',
    async () => {
      await observe?.()
      const { rows } = await stack.database.postgres.query(
        `select from unnest($1::text[]) as account (id)
          where exists (select from open_tasks where account_id = account.id::uuid and stage = 'accepted')
             or exists (select from open_tasks where account_id = account.id::uuid and stage <> 'accepted')`,
        [accounts.map(({ id }) => id)],
      )
      return rows.length === 0
    },
    withinMs,
  )
}

interface Served {
  accountId: string
  acceptedMs: number
  startedMs: number | null
  isCompleted: boolean
}

const servedOf = async (accounts: Account[]): Promise<Served[]> => {
  const { rows } = await stack.database.postgres.query<Served & Record<string, unknown>>(
    `select t.account_id as "accountId", t.state = 'completed' as "isCompleted",
            extract(epoch from accepted.created_at)::float8 * 1000 as "acceptedMs",
            extract(epoch from started.created_at)::float8 * 1000 as "startedMs"
       from video_tasks t
       join task_events accepted on accepted.day = t.day and accepted.task_id = t.id and accepted.kind = 'accepted'
       left join task_events started on started.day = t.day and started.task_id = t.id and started.kind = 'processing'
      where t.account_id = any ($1)`,
    [accounts.map(({ id }) => id)],
  )
  return rows
}

const percentile = (values: number[], share: number) =>
  values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1] ?? Number.NaN

/** Jain's fairness index: 1 if all got the same, 1/n if one of n got everything. */
const jainIndex = (values: number[]) => {
  const sum = values.reduce((total, value) => total + value, 0)
  return sum ** 2 / (values.length * values.reduce((total, value) => total + value ** 2, 0))
}

/** Serves ten small accounts beside one that ordered `firstCreates` videos before them, until the ten are done. */
const serveBeside = async (firstCreates: number) => {
  const [first, ...small] = [
    await newAccount(),
    ...(await Promise.all(Array.from({ length: 10 }, newAccount))),
  ]
  await order(first, firstCreates)
  await Promise.all(small.map((account) => order(account, smallCreates)))
  await untilServed(small)
  const served = await servedOf([first, ...small])
  const ofSmall = served.filter(({ accountId }) => accountId !== first.id)

  // The interval in which all accounts have work: from the latest first start of a small account to the earliest last
  // start. The tasks that the eleventh had in flight before are excluded.
  const startsOf = ({ id }: Account) =>
    served.flatMap(({ accountId, startedMs, isCompleted }) =>
      accountId === id && isCompleted && startedMs !== null ? startedMs : [],
    )
  const fromMs = Math.max(...small.map((account) => Math.min(...startsOf(account))))
  const untilMs = Math.min(...small.map((account) => Math.max(...startsOf(account))))
  const work = [first, ...small].map(
    (account) => startsOf(account).filter((ms) => ms > fromMs && ms <= untilMs).length,
  )
  // The wait of a task as the number of tasks that started between its admission and its own start.
  const starts = served.flatMap((task) => task.startedMs ?? [])
  const overtakers = ofSmall.map(
    (task) => starts.filter((ms) => ms > task.acceptedMs && ms < (task.startedMs ?? 0)).length,
  )
  return {
    work,
    jain: jainIndex(work),
    p50Starts: percentile(overtakers, 0.5),
    p99Starts: percentile(overtakers, 0.99),
  }
}

test(
  'a flood of one account delays ten others no more than an equal account would',
  async () => {
    // Warms up connections and caches.
    const warmUp = await newAccount()
    await order(warmUp, 8)
    await stack.until('the warm-up is done', async () =>
      (await servedOf([warmUp])).every(({ isCompleted }) => isCompleted),
    )
    const equal = await serveBeside(smallCreates)
    const flood = await serveBeside(floodCreates)
    const left = (await stack.stages())['accepted'] ?? 0
    console.log(
      `ten accounts with ${smallCreates} videos each, 4 slots.\n` +
        `  waits beside an equal account, in starts of others: p50 ${equal.p50Starts}, p99 ${equal.p99Starts}\n` +
        `  waits beside a flood of ${floodCreates}, ${left} of them left: p50 ${flood.p50Starts}, p99 ${flood.p99Starts}\n` +
        `  videos started while all had work, the flood's first: ${flood.work.join(' ')}; Jain index ${flood.jain.toFixed(4)}`,
    )
    expect(left).toBeGreaterThan(0)
    // With a dozen videos each, one start more or less matters. A flood with twice the share of the others gives 0.93.
    expect(flood.jain).toBeGreaterThanOrEqual(isFullLength ? 0.99 : 0.97)
    expect(flood.p99Starts).toBeLessThanOrEqual(1.2 * equal.p99Starts)
  },
  withinMs,
)

/** The most jobs of an account that ran at the vendor at once, by the vendor's clock. */
const mostAtOnce = ({ id }: Account) => {
  const jobs = stack.vendor.jobs().filter(({ prompt }) => prompt.includes(id))
  const atOnce = jobs.map(
    ({ acceptedAtMs }) =>
      jobs.filter(
        (other) => other.acceptedAtMs <= acceptedAtMs && other.acceptedAtMs + vendorDurationMs > acceptedAtMs,
      ).length,
  )
  return { jobs: jobs.length, atOnce: Math.max(...atOnce) }
}

test('an account with a concurrency limit of two never exceeds it, over two providers and two workers', async () => {
  const { postgres } = stack.database
  const [capped, free] = [await newAccount(), await newAccount()]
  await postgres.query('update accounts set concurrency = 2 where id = $1', [capped.id])
  await Promise.all(
    [capped, free].flatMap((account) => ['vidB-2', 'vidB-2-pro'].map((model) => order(account, 10, model))),
  )
  let mostInFlight = 0
  await untilServed([capped, free], async () => {
    const { rows } = await postgres.query<{ inFlight: number }>(
      `select count(*) as "inFlight" from open_tasks where account_id = $1 and stage <> 'accepted'`,
      [capped.id],
    )
    mostInFlight = Math.max(mostInFlight, rows[0]?.inFlight ?? 0)
  })
  const [ofCapped, ofFree] = [mostAtOnce(capped), mostAtOnce(free)]
  console.log(
    `jobs at the vendor at once: ${ofCapped.atOnce} of the account with a limit of 2, ${ofFree.atOnce} of the other;` +
      ` most in flight in the database: ${mostInFlight}`,
  )
  expect([ofCapped.jobs, ofFree.jobs]).toEqual([20, 20])
  expect(mostInFlight).toBeLessThanOrEqual(2)
  expect(ofCapped.atOnce).toBeLessThanOrEqual(2)
})
