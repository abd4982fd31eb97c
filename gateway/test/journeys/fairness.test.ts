/**
 * Who is served when there is more work than slots. `npm run prove:fairness` runs it at length.
 *
 * What a flood costs the others is measured against an equal neighbour, not against an empty house: the same ten small
 * accounts, once beside an eleventh that orders as much as each of them, and once beside one that floods. Both times the
 * eleventh is first in line with everything it orders. Ten accounts of eleven get ten elevenths of the slots either way,
 * so their waits should hardly differ; a flood that could buy itself more would show as longer ones.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'

import { askJson } from '../kit/answers.ts'
import { createAccount, createKey } from '../kit/factories.ts'
import { startStack, type Stack } from '../kit/stack.ts'

const floodCreates = Number(process.env['FLOOD_CREATES'] ?? 1_000)
const smallCreates = Number(process.env['SMALL_CREATES'] ?? 12)
const vendorDurationMs = 40
const withinMs = 1_800_000
/** Waits are compared in time only at length, where the machine has nothing else to do; otherwise in starts. */
const isTimed = process.env['FLOOD_CREATES'] !== undefined

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

/** Orders so many videos, a few requests at a time. */
const order = async ({ id, key }: Account, count: number, model = 'vidB-2') => {
  let left = count
  const lane = async () => {
    while (left > 0) {
      left -= 1
      const body = { model, prompt: `A whale for ${id}`, seconds: '4', size: '480x480' }
      const answer = await askJson(`${stack.url}/v1/videos`, key, body)
      if (answer.status !== 200) throw new Error(`a create was answered ${JSON.stringify(answer)}`)
    }
  }
  await Promise.all(Array.from({ length: Math.min(20, count) }, lane))
}

/** Waits until nothing of these accounts is under way. It is asked so that asking costs the same whatever waits. */
const untilServed = async (accounts: Account[], look?: () => Promise<void>) => {
  await stack.until(
    'they have all they ordered',
    async () => {
      await look?.()
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

/** 1 where all got the same, 1/n where one of n got everything. */
const jainIndex = (values: number[]) => {
  const sum = values.reduce((total, value) => total + value, 0)
  return sum ** 2 / (values.length * values.reduce((total, value) => total + value ** 2, 0))
}

/** Ten small accounts beside one that was there first with so many; answers how it went until the ten were done. */
const beside = async (firstCreates: number) => {
  const [first, ...small] = [
    await newAccount(),
    ...(await Promise.all(Array.from({ length: 10 }, newAccount))),
  ]
  const startedMs = performance.now()
  await order(first, firstCreates)
  const orderedMs = performance.now() - startedMs
  await Promise.all(small.map((account) => order(account, smallCreates)))
  await untilServed(small)
  const served = await servedOf([first, ...small])
  const ofSmall = served.filter(({ accountId }) => accountId !== first.id)

  // All have work from when each has had a first start, with what the eleventh had in flight before them over, until one
  // has its last.
  const startsOf = ({ id }: Account) =>
    served.flatMap(({ accountId, startedMs, isCompleted }) =>
      accountId === id && isCompleted && startedMs !== null ? startedMs : [],
    )
  const fromMs = Math.max(...small.map((account) => Math.min(...startsOf(account))))
  const untilMs = Math.min(...small.map((account) => Math.max(...startsOf(account))))
  const work = [first, ...small].map(
    (account) => startsOf(account).filter((ms) => ms > fromMs && ms <= untilMs).length,
  )
  const waitsMs = ofSmall.map((task) => (task.startedMs ?? Number.NaN) - task.acceptedMs)
  // The same wait in tasks that went before, which a busy machine does not stretch.
  const starts = served.flatMap((task) => task.startedMs ?? [])
  const overtakers = ofSmall.map(
    (task) => starts.filter((ms) => ms > task.acceptedMs && ms < (task.startedMs ?? 0)).length,
  )
  return {
    orderedMs,
    work,
    jain: jainIndex(work),
    p99Ms: percentile(waitsMs, 0.99),
    p99Starts: percentile(overtakers, 0.99),
    words: `waits p50 ${percentile(waitsMs, 0.5).toFixed(0)} ms, p99 ${percentile(waitsMs, 0.99).toFixed(0)} ms, p99 ${percentile(overtakers, 0.99)} starts of others`,
  }
}

test(
  'a flood of one account costs ten others no more than an equal neighbour would',
  async () => {
    // Whoever comes first finds everything cold.
    const early = await newAccount()
    await order(early, 8)
    await stack.until('the first few are done', async () =>
      (await servedOf([early])).every(({ isCompleted }) => isCompleted),
    )
    const equal = await beside(smallCreates)
    const flood = await beside(floodCreates)
    const left = (await stack.stages())['accepted'] ?? 0
    console.log(
      `ten accounts with ${smallCreates} videos each, 4 slots.\n` +
        `  beside an equal eleventh: ${equal.words}\n` +
        `  beside a flood of ${floodCreates}, ordered in ${(flood.orderedMs / 1000).toFixed(1)} s, ${left} left in line: ${flood.words}\n` +
        `  videos started while all had work, the flood's first: ${flood.work.join(' ')}; Jain index ${flood.jain.toFixed(4)}`,
    )
    expect(left).toBeGreaterThan(0)
    // With a dozen each, one start more or less shows; a flood with twice the share of others comes to 0.93.
    expect(flood.jain).toBeGreaterThanOrEqual(isTimed ? 0.99 : 0.97)
    if (isTimed) expect(flood.p99Ms).toBeLessThanOrEqual(2 * equal.p99Ms)
    expect(flood.p99Starts).toBeLessThanOrEqual(1.2 * equal.p99Starts)
  },
  withinMs,
)

/** The most jobs of an account that the vendor worked on at once, by its own clock. */
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

test('an account that may have two in flight has never more, over two providers and two workers', async () => {
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
    `at the vendor at once: ${ofCapped.atOnce} of the account with a cap of 2, ${ofFree.atOnce} of the other;` +
      ` seen in flight here: ${mostInFlight}`,
  )
  expect([ofCapped.jobs, ofFree.jobs]).toEqual([20, 20])
  expect(mostInFlight).toBeLessThanOrEqual(2)
  expect(ofCapped.atOnce).toBeLessThanOrEqual(2)
})
