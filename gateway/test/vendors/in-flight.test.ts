/**
 * Very many tasks in flight at the same time: most at a vendor with webhooks, some at one that is polled.
 * None stalls and each is charged once; the memory and the calls of a waiting task are measured.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'

import { startVendor, type Vendor } from '../../../dev/vendor/vendor.ts'
import { askJson } from '../kit/answers.ts'
import { residentMib } from '../kit/resident-memory.ts'
import { startStack, type Stack } from '../kit/stack.ts'
import { minutes } from '../kit/time-limits.ts'
import { isFull } from './findings.ts'

const brings = { model: 'vidA2-pro', tasks: isFull ? 10_000 : 160 }
const asked = { model: 'vidA2-fast', tasks: isFull ? 2_000 : 40 }
const total = brings.tasks + asked.tasks
/** Once all are in flight, the jobs end within this time. */
const endsMs = isFull ? 120_000 : 3_000
const warmTasks = isFull ? 600 : 60
const lanes = 16
const withinMs = minutes(5)
const apiKey = 'vendor-key-of-tests'

const parts = ['api', 'worker', 'engine'] as const
type Memory = Record<(typeof parts)[number], number>

let stack: Stack
let polled: Vendor
/** Before the first task, before the measured tasks, and with all of them in flight. */
let fresh: Memory
let idle: Memory
let busy: Memory
let createsMs: number
let inFlightMs: number
let lateMs: number

const memory = async (): Promise<Memory> => {
  const pids = { api: stack.api.pid(), worker: stack.workers[0]?.pid(), engine: stack.engine.pid() }
  const sizes = await Promise.all(parts.map((part) => residentMib(pids[part] ?? 0)))
  return Object.fromEntries(parts.map((part, index) => [part, sizes[index]])) as Memory
}

const routingConfigOf = (vendor: Vendor) => {
  const common = {
    apiKey,
    slots: 20_000,
    ...(!isFull && { pollIntervalMsMin: 250, pollIntervalMsMax: 2_000 }),
  }
  const jwksUrl = `${vendor.url}/.well-known/jwks.json`
  return {
    providers: {
      brings: {
        ...{ ...common, kind: 'fal', baseUrl: vendor.url, resultOrigins: [vendor.url] },
        ...{ webhooks: true, jwksUrl },
      },
      asked: { ...common, kind: 'openai', baseUrl: polled.url, idempotentSubmits: true },
    },
    models: {
      [brings.model]: { routes: [{ provider: 'brings', model: `owner/${brings.model}` }] },
      [asked.model]: { routes: [{ provider: 'asked' }] },
    },
  }
}

const create = async (model: string, prompt: string) => {
  const { status, body } = await askJson(`${stack.url}/v1/video/create`, stack.key, { model, prompt })
  if (status !== 200) throw new Error(`a create was answered ${JSON.stringify(body)}`)
}

const createAll = async (count: number, words: string) => {
  const every = Math.round(total / asked.tasks)
  let next = 0
  const lane = async () => {
    for (let index = next++; index < count; index = next++) {
      await create(index % every === 0 ? asked.model : brings.model, `${words} ${index}`)
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}

const vendors = () => [stack.vendor, polled]

/** Called ten times a second, so it does not count rows. */
const isOver = async () =>
  (await stack.database.postgres.query('select from open_tasks limit 1')).rowCount === 0

beforeAll(async () => {
  polled = await startVendor({ apiKey })
  stack = await startStack({
    routingConfig: routingConfigOf,
    environment: { LIMIT_CREATES_PER_MINUTE: '1000000' },
  })
  fresh = await memory()
  // Excludes the initial growth of the processes.
  await createAll(warmTasks, 'warm')
  await stack.until('it is warm', async () => (await stack.states())['completed'] === warmTasks)
  idle = await memory()

  const startedMs = performance.now()
  await createAll(total, 'vendor:never')
  createsMs = performance.now() - startedMs
  await stack.until('all are in flight', async () => (await stack.stages())['waiting'] === total, withinMs)
  inFlightMs = performance.now() - startedMs
  busy = await memory()
  const releasedMs = performance.now()
  for (const vendor of vendors()) vendor.release(endsMs)
  await stack.until('all are done', isOver, withinMs)
  lateMs = performance.now() - releasedMs - endsMs
})
afterAll(async () => {
  await stack[Symbol.asyncDispose]()
  await polled.close()
})

const sum = (values: number[]) => values.reduce((total, value) => total + value, 0)
const inSeconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`

test('a waiting task needs very little memory', ({ task }) => {
  const kibSince = (before: Memory, part: keyof Memory) => ((busy[part] - before[part]) * 1024) / total
  const allSince = (before: Memory) => sum(parts.map((part) => kibSince(before, part)))
  const each = parts.map((part) => {
    const [first, second, third] = [fresh, idle, busy].map((each) => each[part].toFixed(0))
    return `${part} ${kibSince(idle, part).toFixed(1)}: ${first}, then ${second}, then ${third} MiB`
  })
  task.meta.line =
    `${allSince(idle).toFixed(1)} KiB for each of ${total}, or ${allSince(fresh).toFixed(1)} with all that the first ` +
    `ones made the processes grow by (${each.join('; ')})`
  // Processes grow by this much at first, however few tasks there are.
  const atFirstKib = isFull ? 0 : 400 * 1024
  expect(allSince(fresh) * total).toBeLessThanOrEqual(64 * total + atFirstKib)
})

test('waiting tasks cause few vendor calls', async ({ task }) => {
  const { rows } = await stack.database.postgres.query<{ heard: number; minutes: number }>(
    `select (select count(*) from webhook_receipts where provider = 'brings') as heard,
            (select extract(epoch from avg(ended.created_at - taken.created_at)) / 60
               from video_tasks t
               join task_events taken on taken.day = t.day and taken.task_id = t.id and taken.kind = 'processing'
               join task_events ended on ended.day = t.day and ended.task_id = t.id and ended.kind = 'completed'
              where t.provider = 'brings')::float8 as minutes`,
  )
  const { heard, minutes } = rows[0] ?? { heard: 0, minutes: 0 }
  const [bringing, silent] = vendors().map((vendor) => vendor.counts().polls / vendor.jobs().length) as [
    number,
    number,
  ]
  task.meta.line =
    `${bringing.toFixed(2)} polls per job with webhooks, ${heard} of which were received; ` +
    `${silent.toFixed(2)} where none are; they waited for ${minutes.toFixed(1)} minutes`
  expect(heard).toBe(stack.vendor.jobs().length)
  // One poll after the webhook, and one a minute before it in case the webhook is lost.
  expect(bringing).toBeLessThanOrEqual(1.1 + minutes)
})

test('in the end every task is completed once and charged once', async ({ task }) => {
  const jobs = vendors().flatMap((vendor) => vendor.jobs())
  const duplicates = jobs.length - new Set(jobs.map(({ prompt }) => prompt)).size
  expect(duplicates).toBe(0)
  const { completed = 0, ...others } = await stack.states()
  expect(others).toEqual({})
  expect(completed).toBe(total + warmTasks)
  await stack.assertLedger({ completed, failed: 0 })
  task.meta.line =
    `${((total / createsMs) * 1_000).toFixed(0)} creates a second, all in flight after ${inSeconds(inFlightMs)}; ` +
    `jobs ended over ${inSeconds(endsMs)}, and ${inSeconds(lateMs)} after the last all were done`
  task.meta.findings = { tasks: completed, duplicates }
})
