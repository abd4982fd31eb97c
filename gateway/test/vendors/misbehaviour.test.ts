/**
 * Vendors that misbehave in every known way, behind every adapter, all at once and mixed with successful work. In every
 * case each task ends as it should, is charged once or not at all, and no customer sees another's
 * video.
 */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { type FaultName, faultOf } from '../../../dev/vendor/faults.ts'
import { createJobVideo } from '../../../dev/vendor/job-video.ts'
import {
  type UnreachablePort,
  startBlackHole,
  startPlainPort,
} from '../../../dev/vendor/unreachable-ports.ts'
import type { Vendor } from '../../../dev/vendor/vendor.ts'
import { askJson } from '../kit/answers.ts'
import { startStack, type Stack } from '../kit/stack.ts'
import { type Adapter, adaptersAt, upstreamModelOf } from './adapters.ts'
import { isFull } from './findings.ts'

interface Misbehaviour {
  fault: FaultName
  on: 'submit' | 'poll' | 'download'
  /** The outcome of the task, if it does not depend on the adapter. */
  ends?: Wanted
}

/** `either`: depends on the vendor or on timing. */
type Wanted = 'completed' | 'failed' | 'either'

const misbehaviours: Misbehaviour[] = [
  { fault: '500', on: 'submit' },
  { fault: '502-html', on: 'submit' },
  { fault: '429', on: 'submit', ends: 'completed' },
  { fault: '429-retry-after', on: 'submit', ends: 'completed' },
  { fault: 'silence', on: 'submit' },
  { fault: 'drip', on: 'poll', ends: 'completed' },
  { fault: 'truncated-json', on: 'submit' },
  { fault: 'garbage', on: 'submit' },
  { fault: 'huge', on: 'poll', ends: 'completed' },
  { fault: 'gzip-bomb', on: 'poll', ends: 'completed' },
  { fault: 'wrong-type', on: 'poll', ends: 'completed' },
  { fault: 'redirect-inside', on: 'download', ends: 'completed' },
  { fault: 'drop', on: 'submit' },
  { fault: 'duplicate-id', on: 'submit', ends: 'either' },
  { fault: 'backwards', on: 'poll', ends: 'completed' },
  { fault: 'done-then-404', on: 'poll', ends: 'failed' },
]

/** In rounds, so that no task is queued for longer than its deadline. */
const rounds = isFull ? 2 : 1
/** Tasks of each misbehaviour behind each adapter: with eight adapters, two hundred each. */
const tasksEach = isFull ? 25 : 1
/** Provider accounts per vendor, each with its own retry budget and health. */
const accountsEach = isFull ? 8 : 2
const successfulEach = isFull ? 100 : 12
/**
 * In the full run the real deadline applies. In the short run the deadline is moved to now as soon as nothing
 * else is in progress, so that the speed of the machine does not matter.
 */
const deadlineSeconds = isFull ? 180 : 3_600

/** The kinds whose 500 means that there is no job, so that the task is submitted again. */
const kindsThatAcceptNothing = new Set(['openai', 'gemini', 'fal'])

/** Whether the job of a submit with this fault can be found again. */
const endOf = ({ fault, on, ends }: Misbehaviour, { kind, finds }: Adapter): Wanted => {
  if (ends !== undefined) return ends
  if (fault === '500' && kindsThatAcceptNothing.has(kind)) return 'completed'
  if (on !== 'submit' || finds === 'a repeat') return 'completed'
  if (finds === 'nothing') return 'failed'
  if (faultOf(fault).acceptsJob) return 'completed'
  // If no job is found within two minutes, it is submitted again.
  return finds === 'a lookup' ? 'either' : 'failed'
}

interface Ended {
  id: string
  prompt: string
  state: string
  errorCode: string | null
  /** The outcomes of its submits, and the reasons of failures. */
  attempts: string[] | null
  captures: number
  releases: number
  ends: number
  fell: boolean
  /** Contains the id of its job. */
  upstream: string | null
  sha256: string | null
}

let stack: Stack
let adapters: Adapter[]
let deadEnds: { blackHole: UnreachablePort; plain: UnreachablePort }
let sample: Buffer
let ended: Ended[]
let confused: Set<string>
let tookMs: number

const routingConfigOf = (vendor: Vendor) => {
  const common = {
    ...{ apiKey: 'vendor-key-of-tests', slots: 200, shards: 1, resultOrigins: [vendor.url] },
    ...{ pollIntervalMsMin: 250, pollIntervalMsMax: 2_000 },
    ...{ submitTimeoutMs: 10_000, pollTimeoutMs: 8_000, downloadTimeoutMs: 30_000 },
  }
  const behind = (url: string) => ({ ...common, kind: 'openai', baseUrl: url, idempotentSubmits: false })
  const accountsOf = ({ name }: Adapter) =>
    Array.from({ length: accountsEach }, (_, account) => `${name}-${account}`)
  const providers = Object.fromEntries(
    adapters.flatMap((adapter) => {
      const { kind, own, path = '' } = adapter
      const settings = { ...common, kind, baseUrl: vendor.url + path, ...own }
      return accountsOf(adapter).map((name) => [name, settings])
    }),
  )
  const models = Object.fromEntries(
    adapters.map((adapter) => [
      adapter.model,
      { routes: accountsOf(adapter).map((provider) => ({ provider, model: upstreamModelOf(adapter) })) },
    ]),
  )
  const first = (provider: string) => ({ provider, order: 1 })
  const second = { provider: 'openai-0', order: 2 }
  return {
    providers: {
      ...providers,
      'black-hole': behind(deadEnds.blackHole.url),
      plain: behind(deadEnds.plain.url),
    },
    models: {
      ...models,
      'vidB-2': { routes: [first('black-hole'), second] },
      'vidB-2-pro': { routes: [first('plain'), second] },
    },
  }
}

const shuffled = <Item>(items: Item[]): Item[] =>
  items
    .map((item) => ({ item, at: Math.random() }))
    .toSorted((one, other) => one.at - other.at)
    .map(({ item }) => item)

const ordersOf = ({ name, model }: Adapter) => [
  ...misbehaviours.flatMap(({ fault, on }) =>
    Array.from({ length: tasksEach }, (_, n) => ({
      model,
      prompt: `${name} ${fault} ${n} vendor:fault=${fault}@${on}`,
    })),
  ),
  ...Array.from({ length: successfulEach }, (_, n) => ({ model, prompt: `${name} none ${n}` })),
]

const createAll = async (orders: { model: string; prompt: string }[]) => {
  const left = [...orders]
  const lane = async () => {
    for (let order = left.pop(); order !== undefined; order = left.pop()) {
      const path = order.model.startsWith('vidB') ? '/v1/videos' : '/v1/video/create'
      const { status, body } = await askJson(`${stack.url}${path}`, stack.key, order)
      if (status !== 200) throw new Error(`a create was answered ${JSON.stringify(body)}`)
    }
  }
  await Promise.all(Array.from({ length: 16 }, lane))
}

const attemptsOfTask = `(select jsonb_agg(concat_ws(': ', a.outcome, a.failure_reason)) from task_attempts a
  where a.day = t.day and a.task_id = t.id)`

const readEnded = async (): Promise<Ended[]> => {
  const { rows } = await stack.database.postgres.query<Ended & Record<string, unknown>>(
    `select t.id, t.video_order ->> 'prompt' as prompt, t.state, t.error_code as "errorCode", encode(m.sha256, 'hex') as sha256,
            t.upstream::text as upstream,
            ${attemptsOfTask} as attempts,
            (select count(*) from ledger_entries l
              where l.task_id = t.id and l.movement = 'capture' and l.book = 'revenue') as captures,
            (select count(*) from ledger_entries l
              where l.task_id = t.id and l.movement = 'release' and l.book = 'available') as releases,
            (select count(*) from task_events e
              where e.day = t.day and e.task_id = t.id and e.kind in ('completed', 'failed')) as ends,
            exists (select from (
              select (e.data ->> 'progress')::integer as now, lag((e.data ->> 'progress')::integer) over (order by e.id)
                       as before
                from task_events e where e.day = t.day and e.task_id = t.id and e.data ? 'progress') steps
              where now < before) as fell
       from video_tasks t left join media m on m.id = t.media_id`,
  )
  return rows
}

/** Tasks whose job was assigned to another task, because the vendor reported it there first. */
const readConfused = async (): Promise<string[]> => {
  const { rows } = await stack.database.postgres.query<{
    id: string
    prompt: string
    upstream: string | null
  }>(`select id, video_order ->> 'prompt' as prompt, upstream::text as upstream from video_tasks`)
  const jobs = jobsByPrompt()
  return rows.flatMap(({ id, prompt }) => {
    const own = jobs.get(prompt) ?? []
    const isTaken = rows.some(
      (other) => other.id !== id && own.some((job) => other.upstream?.includes(job.id)),
    )
    return isTaken ? id : []
  })
}

/** On a busy machine any submit may take longer than its timeout, and then has an unknown outcome. */
const wasTooSlow = (fault: string | undefined, attempts: string[] | null): boolean =>
  !isFull && fault !== 'silence' && (attempts ?? []).some((each) => /^unknown: .*TimeoutError/.test(each))

/** The expected outcome of a task. */
const wantedOf = ({ prompt, attempts }: Pick<Ended, 'prompt' | 'attempts'>): Wanted => {
  const [name, fault] = prompt.split(' ')
  if (wasTooSlow(fault, attempts)) return 'either'
  const adapter = adapters.find((each) => each.name === name)
  const misbehaviour = misbehaviours.find((each) => each.fault === fault)
  return adapter === undefined || misbehaviour === undefined ? 'completed' : endOf(misbehaviour, adapter)
}

/** Whether every open task was submitted and need not complete. */
const isLeftToTheDeadline = async (): Promise<boolean> => {
  const { rows } = await stack.database.postgres.query<
    Pick<Ended, 'id' | 'prompt' | 'attempts'> & { isSent: boolean }
  >(
    `select t.id, t.video_order ->> 'prompt' as prompt, ${attemptsOfTask} as attempts,
            o.outcome_unknown_since is not null or o.upstream is not null as "isSent"
       from open_tasks o join video_tasks t on t.day = o.day and t.id = o.task_id`,
  )
  const confusedNow = new Set(await readConfused())
  return rows.every(
    ({ isSent, ...task }) => isSent && (wantedOf(task) !== 'completed' || confusedNow.has(task.id)),
  )
}

const jobsByPrompt = () => Map.groupBy(stack.vendor.jobs(), ({ prompt }) => prompt)

beforeAll(async () => {
  deadEnds = { blackHole: await startBlackHole(), plain: await startPlainPort() }
  sample = await readFile(new URL('../../../dev/vendor/sample.mp4', import.meta.url))
  stack = await startStack({
    hasDistinctVideos: true,
    routingConfig: (vendor) => {
      adapters = adaptersAt(vendor)
      return routingConfigOf(vendor)
    },
    environment: {
      TASK_DEADLINE_SECONDS: String(deadlineSeconds),
      LIMIT_CREATES_PER_MINUTE: '1000000',
      // Vendors that never finish hold their slots until the deadline.
      OVERLOAD_QUEUE_PERCENT: '0',
      LOG_LEVEL: 'info',
    },
  })
  const startedMs = performance.now()
  const unreachable = ['vidB-2', 'vidB-2-pro'].flatMap((model) =>
    Array.from({ length: tasksEach }, (_, n) => ({
      ...{ model, prompt: `${model} unreachable ${n}` },
      ...{ seconds: '4', size: '480x480' },
    })),
  )
  const orders = shuffled([...adapters.flatMap(ordersOf), ...unreachable])
  for (let round = 0; round < rounds; round += 1) {
    await createAll(orders.filter((_, at) => at % rounds === round))
    const inQueue = async () => (await stack.stages())['accepted'] ?? 0
    await stack.until('few are left in line', async () => (await inQueue()) < 200)
  }
  if (!isFull) {
    await stack.until('only the deadline can end the others', isLeftToTheDeadline)
    await stack.database.postgres.query(`update open_tasks set deadline_at = now() - interval '1 hour'`)
  }
  await stack.until(
    'every task has ended',
    async () => Object.keys(await stack.stages()).length === 0,
    isFull ? (deadlineSeconds + 90) * 1_000 : undefined,
  )
  ended = await readEnded()
  confused = new Set(await readConfused())
  tookMs = performance.now() - startedMs
})
afterAll(async () => {
  await stack[Symbol.asyncDispose]()
  await Promise.all([deadEnds.blackHole.close(), deadEnds.plain.close()])
})

/** The hashes of the videos of a task's job: one, because it has one job. */
const videosOf = (upstream: string | null): string[] =>
  stack.vendor
    .jobs()
    .filter(({ id }) => upstream?.includes(id) === true)
    .map((job) => createHash('sha256').update(createJobVideo(sample, job)).digest('hex'))

/** Invariants of every task. */
const expectSound = (tasks: Ended[]) => {
  for (const { id, state, captures, releases, ends, fell, upstream, sha256 } of tasks) {
    const isDone = state === 'completed'
    expect
      .soft({ id, captures, releases, ends, fell }, `${id} ended once, and was charged once or not at all`)
      .toEqual({ id, captures: isDone ? 1 : 0, releases: isDone ? 0 : 1, ends: 1, fell: false })
    if (isDone) expect.soft([sha256], `${id} has the video of its job`).toEqual(videosOf(upstream))
  }
}

const adapterNames = [
  'openai',
  'openai-lookup',
  'openai-plain',
  'kinora',
  'gemini',
  'fal',
  'replicate',
  'ai-sdk',
]

/** A job that the vendor reported to two tasks belongs to one of them; the other ends without a video. */
const isConfused = ({ id, state }: Ended) => state === 'failed' && confused.has(id)

describe.each(adapterNames)('%s', (name) => {
  test.for<Misbehaviour | { fault: 'none' }>([...misbehaviours, { fault: 'none' }])(
    '$fault',
    (given, { task }) => {
      const tasks = ended.filter(({ prompt }) => prompt.startsWith(`${name} ${given.fault} `))
      expect(tasks).toHaveLength(given.fault === 'none' ? successfulEach : tasksEach)
      expectSound(tasks)
      const wrong = tasks.filter((each) => {
        const wanted = wantedOf(each)
        return wanted !== 'either' && each.state !== wanted && !isConfused(each)
      })
      expect.soft(wrong.map((each) => ({ ...each, wanted: wantedOf(each) }))).toEqual([])
      const jobs = jobsByPrompt()
      const duplicates = tasks.reduce(
        (sum, { prompt }) => sum + Math.max(0, (jobs.get(prompt)?.length ?? 0) - 1),
        0,
      )
      expect.soft(duplicates, 'at most one job each').toBe(0)
      const completed = tasks.filter(({ state }) => state === 'completed').length
      task.meta.line = `${completed} completed, ${tasks.length - completed} failed, ${duplicates} duplicate jobs`
      task.meta.findings = {
        tasks: tasks.length,
        faults: given.fault === 'none' ? 0 : tasks.length,
        lost: wrong.length,
        chargedTwice: tasks.filter(({ captures }) => captures > 1).length,
        duplicates,
      }
    },
  )
})

test.for([
  { what: 'a vendor that connections never reach', model: 'vidB-2', provider: 'black-hole' },
  { what: 'a vendor whose TLS is none', model: 'vidB-2-pro', provider: 'plain' },
])('$what is skipped for the next route', async ({ model, provider }, { task }) => {
  const tasks = ended.filter(({ prompt }) => prompt.startsWith(`${model} unreachable `))
  expect(tasks).toHaveLength(tasksEach)
  expectSound(tasks)
  expect(tasks.filter((each) => each.state !== 'completed' && !isConfused(each))).toEqual([])
  const { rows } = await stack.database.postgres.query<{ calls: number }>(
    `select count(*) as calls from task_attempts where provider = $1 and outcome = 'not_delivered'`,
    [provider],
  )
  const calls = rows[0]?.calls ?? 0
  expect(calls).toBeGreaterThan(0)
  const completed = tasks.filter(({ state }) => state === 'completed').length
  expect(completed).toBeGreaterThan(0)
  task.meta.line = `${completed} completed elsewhere, ${calls} calls came to nothing`
  task.meta.findings = { tasks: tasks.length, faults: tasks.length }
})

test('every fault has happened', () => {
  expect(stack.vendor.counts().faults).toBeGreaterThan(0)
  expect(stack.vendor.unusedFaults()).toEqual([])
})

test('all of them together', async ({ task }) => {
  const { rows } = await stack.database.postgres.query<{ id: string }>(
    `select min(id) as id from video_tasks where state = 'completed' group by provider, upstream having count(*) > 1`,
  )
  expect(rows, 'no job was shown to two customers').toEqual([])
  const completed = ended.filter(({ state }) => state === 'completed').length
  await stack.assertLedger({ completed, failed: ended.length - completed })
  task.meta.line = `${ended.length} tasks ended within ${(tookMs / 1000).toFixed(0)} s, and the books balance`
})
