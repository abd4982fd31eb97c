/**
 * What an operation costs: the statements and row writes of one request, and of the whole life of a task. The operations run
 * one at a time, so that no two of them share a statement.
 */
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { request } from 'undici'

import { startFaultStack } from '../gateway/test/faults/fault-stack.ts'
import type { Mutation } from '../gateway/test/faults/mutation.ts'
import { until } from '../gateway/test/faults/part.ts'
import { createAccount, createKey } from '../gateway/test/kit/factories.ts'
import { listenForTest } from '../gateway/test/kit/listen-for-test.ts'
import {
  countingSettings,
  countBackground,
  countWorkAlone,
  notCounted,
  startCounting,
  type DatabaseWork,
} from './measure/database-work.ts'
import { total } from './measure/figures.ts'
import { countInvocationsIn, invocationsOf } from './measure/invocations.ts'

export interface Cost {
  statements: number
  writes: number
  /** Attempts of invocations that the engine makes; only a task has some. */
  invocations?: number
}

/** Raise a figure only for a reason; lower it when the cost is lower. */
export const recordedCosts: Record<string, Cost> = {
  createVideo: { statements: 7, writes: 7 },
  'createVideo with a webhook': { statements: 8, writes: 7 },
  getVideo: { statements: 0, writes: 1 },
  listVideos: { statements: 1, writes: 1 },
  createSpeech: { statements: 7, writes: 10 },
}

/** Includes the loops of the worker, whose ticks depend on the time that a task takes. */
export const recordedLife = { statements: 52, writes: 33, invocations: 11 }

/** The same of a task whose end is sent to a URL that its create named. */
export const recordedLifeWithWebhook = { statements: 60, writes: 39, invocations: 13 }

/** For so long, what the roles do in the background is counted. On a slow machine it would be a large part of the rest. */
const backgroundSeconds = 12

/** Enough that what is left of it is less than half per operation. */
const requests = 40
const tasks = 40

/** Statements and rows that belong to each operation, without what happens in the background. */
const perOperation = (counts: Map<string, number>, operations: number): Map<string, number> =>
  new Map(
    [...counts]
      .map(([name, count]): [string, number] => [name, Math.round(count / operations)])
      .filter(([, count]) => count > 0),
  )
const sum = (counts: Map<string, number>) => counts.values().reduce((total, count) => total + count, 0)

const costOf = ({ statements, writes }: DatabaseWork, operations: number): Cost => ({
  statements: sum(perOperation(statements, operations)),
  writes: sum(perOperation(writes, operations)),
})

export const lifeOfTask = 'life of a task'
export const lifeWithWebhook = 'life of a task with a webhook'

interface CostOptions {
  mutation?: Mutation
  /** Which operations to measure; all by default. */
  operations?: string[]
}

export const measureCosts = async ({ mutation, operations: wanted }: CostOptions = {}): Promise<
  Record<string, Cost>
> => {
  const isWanted = (name: string) => wanted === undefined || wanted.includes(name)
  await using receiver = await listenForTest((_request, response) => response.end())
  await using directory = await mkdtempDisposable(join(tmpdir(), 'kinora-costs-'))
  const countFile = join(directory.path, 'invocations')
  await using stack = await startFaultStack({
    processes: { apis: 1, workers: 1 },
    postgresSettings: countingSettings,
    // A busy machine must not refuse a request.
    environment: {
      ...countInvocationsIn(countFile),
      OVERLOAD_EVENT_LOOP_DELAY_MS: '0',
      LIMIT_ADDRESS_PER_3_MINUTES: '0',
      WEBHOOK_ALLOW_LOOPBACK: 'true',
    },
    ...(mutation && { mutation }),
  })
  await startCounting(stack)
  const key = await stack.withDatabase(async (postgres) => {
    const accountId = await createAccount(postgres, { balance: 1_000_000 })
    return (await createKey(postgres, accountId)).text
  })
  const origin = stack.origins[0] ?? ''
  const call = async (method: 'GET' | 'POST', path: string, body?: unknown): Promise<string> => {
    const response = await request(`${origin}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
    })
    const text = await response.body.text()
    if (response.statusCode !== 200)
      throw new Error(`${method} ${path} failed: ${response.statusCode} ${text}`)
    return text
  }
  const webhook = { webhook_url: `${receiver.url}/done` }
  const createVideo = async (more: object = {}): Promise<string> => {
    const order = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '1280x720', ...more }
    return (JSON.parse(await call('POST', '/v1/videos', order)) as { id: string }).id
  }
  const hasEnded = async () =>
    (
      await stack.postgres.query(
        `select ${notCounted} from open_tasks union all select from webhook_deliveries where state = 'pending' limit 1`,
      )
    ).length === 0
  const logged = async () => {
    const [row] = await stack.postgres.query<{ count: number }>(
      `select ${notCounted} count(*)::int as count from request_log`,
    )
    return row?.count ?? 0
  }
  const runTask = async (more: object = {}) => {
    await createVideo(more)
    await until('the task has ended', hasEnded, { withinMs: 120_000, everyMs: 50 })
  }
  const isSettled = async () =>
    (await stack.postgres.query(`select ${notCounted} from metered_requests where outcome = 'open' limit 1`))
      .length === 0
  /** The charge of a speech and the request log are written after the responses. */
  const untilLogged = async (work: () => Promise<void>, count: number) => {
    const before = await logged()
    await work()
    await until('the requests are charged', isSettled)
    await until('the requests are logged', async () => (await logged()) >= before + count)
  }
  const repeat = async (count: number, work: () => Promise<unknown>) => {
    for (let done = 0; done < count; done += 1) await work()
  }

  const costs: Record<string, Cost> = {}
  const show = (name: string, { statements, writes }: DatabaseWork, count: number) => {
    if (process.env['SHOW_STATEMENTS'] === undefined) return
    const lines = [...perOperation(statements, count)].map(([text, calls]) => `${calls} ${text}`)
    console.log(name, perOperation(writes, count), lines.join('\n'))
  }
  const background = await countBackground(stack, backgroundSeconds)
  const lives = { [lifeOfTask]: () => runTask(), [lifeWithWebhook]: () => runTask(webhook) }
  for (const [name, live] of Object.entries(lives)) {
    await live()
    if (!isWanted(name)) continue
    const countInvocations = async () => total(await invocationsOf(stack, countFile))
    const before = await countInvocations()
    const work = await countWorkAlone(stack, background, () => untilLogged(() => repeat(tasks, live), tasks))
    const invocations = Math.round(((await countInvocations()) - before) / tasks)
    costs[name] = { ...costOf(work, tasks), invocations }
    show(name, work, tasks)
  }
  const id = await createVideo()
  await until('the task has ended', hasEnded, { withinMs: 120_000 })
  // From here on only the API works.
  await stack.workers[0].kill()
  const backgroundOfApi = await countBackground(stack, backgroundSeconds)
  const operations: Record<string, () => Promise<unknown>> = {
    createVideo: () => createVideo(),
    'createVideo with a webhook': () => createVideo(webhook),
    getVideo: () => call('GET', `/v1/videos/${id}`),
    listVideos: () => call('GET', '/v1/videos?limit=20'),
    createSpeech: async () => {
      await call('POST', '/v1/audio/speech', {
        model: 'chat-4o-mini-tts-2025-12-15',
        voice: 'nova',
        input: 'Hello.',
      })
      // Charges that are close together share their statements.
      await until('the speech is charged', isSettled)
    },
  }
  for (const [name, operation] of Object.entries(operations).filter(([each]) => isWanted(each))) {
    await operation()
    await until('the request is charged', isSettled)
    const work = await countWorkAlone(stack, backgroundOfApi, () =>
      untilLogged(() => repeat(requests, operation), requests),
    )
    costs[name] = costOf(work, requests)
    show(name, work, requests)
  }
  return costs
}
