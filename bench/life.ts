/**
 * What a video costs from its create to its end: processor time by process, statements, row writes and invocations per
 * task, and tasks per second. Rounds alternate with as many bare workflows on the same engine.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

import { Pool } from 'undici'

import { startFaultStack, type FaultStack } from '../gateway/test/faults/fault-stack.ts'
import { until } from '../gateway/test/faults/part.ts'
import { createAccount, createKey } from '../gateway/test/kit/factories.ts'
import { reservePorts } from '../gateway/test/kit/reserve-ports.ts'
import { cpuMsOf, cpuMsOfFamily, startStealShare } from './cpu-time.ts'
import { countingSettings, readWork, startCounting } from './database-work.ts'
import { countInvocationsIn, invocationsOf } from './invocations.ts'

export interface LifeOptions {
  tasks: number
  rounds: number
  /** How long the idle service is measured after the last round. */
  idleMs: number
}

/** The figures of one round, per task unless the name says otherwise. */
export type Figures = Record<string, number>

export interface LifeResult {
  kinora: Figures[]
  bare: Figures[]
  /** The share of one processor that each process uses when all tasks have ended. */
  idle: Figures
}

const accounts = 16
const connections = 32
const warmUpTasks = 100
const endedWithinMs = 600_000
/** After this time without work the service counts as idle. */
const settleMs = 30_000
const bareFile = fileURLToPath(new URL('bare-workflow.ts', import.meta.url))

const minus = (after: Figures, before: Figures): Figures =>
  Object.fromEntries(Object.entries(after).map(([name, value]) => [name, value - (before[name] ?? 0)]))

const per = (figures: Figures, count: number): Figures =>
  Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, value / count]))

const total = (figures: Figures) => Object.values(figures).reduce((sum, value) => sum + value, 0)

const cpuOf = ({ apis: [api], workers: [worker], restate, postgres, redis }: FaultStack): Figures => ({
  api: cpuMsOf(api.pid()),
  worker: cpuMsOf(worker.pid()),
  restate: cpuMsOf(restate.pid()),
  postgres: cpuMsOfFamily(postgres.pid()),
  redis: cpuMsOf(redis.pid()),
})

const databaseWorkOf = async (stack: FaultStack) => {
  const { writes, statements } = await readWork(stack)
  return { writes: total(Object.fromEntries(writes)), statements: total(Object.fromEntries(statements)) }
}

const startBare = async ({ restate }: FaultStack, directory: string) => {
  const { bare: port } = await reservePorts(directory, ['bare'])
  const child = fork(bareFile, [String(port), restate.ingressUrl], { execArgv: [] })
  const ended = once(child, 'exit').then(() => {
    throw new Error('the bare workflow ended early')
  })
  ended.catch(() => undefined)
  const nextMessage = () => Promise.race([once(child, 'message'), ended])
  await nextMessage()
  const registered = await fetch(`${restate.adminUrl}/deployments`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ uri: `http://127.0.0.1:${port}`, force: true }),
  })
  if (!registered.ok)
    throw new Error(`the engine did not register the bare workflow: ${await registered.text()}`)
  return {
    pid: child.pid,
    run: async (count: number) => {
      child.send(count)
      await nextMessage()
    },
    [Symbol.dispose]: () => {
      child.kill('SIGKILL')
    },
  }
}

const createTasks = async ({ origins: [origin = ''] }: FaultStack, keys: string[], count: number) => {
  const pool = new Pool(origin, { connections })
  let next = 0
  const create = async () => {
    while (next < count) {
      const index = next
      next += 1
      const response = await pool.request({
        method: 'POST',
        path: '/v1/videos',
        headers: { authorization: `Bearer ${keys[index % keys.length]}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'vidB-2',
          prompt: `A whale, take ${index}`,
          seconds: 4,
          size: '1280x720',
        }),
      })
      const text = await response.body.text()
      if (response.statusCode !== 200) throw new Error(`a create failed: ${response.statusCode} ${text}`)
    }
  }
  await Promise.all(Array.from({ length: connections }, create))
  await pool.close()
}

export const measureLife = async ({ tasks, rounds, idleMs }: LifeOptions): Promise<LifeResult> => {
  const directory = await mkdtemp(join(tmpdir(), 'kinora-bench-'))
  const countFile = join(directory, 'invocations')
  await using cleanUp = new AsyncDisposableStack()
  cleanUp.defer(() => rm(directory, { recursive: true, force: true }))
  await using stack = await startFaultStack({
    isSmall: true,
    postgresSettings: countingSettings,
    environment: {
      ...countInvocationsIn(countFile),
      // The load is not to be refused.
      OVERLOAD_WAITING_CREATES: '0',
      OVERLOAD_EVENT_LOOP_DELAY_MS: '0',
    },
  })
  await startCounting(stack)
  const keys = await stack.withDatabase((postgres) =>
    Promise.all(
      Array.from({ length: accounts }, async () => {
        const accountId = await createAccount(postgres, { balance: 1_000_000 })
        return (await createKey(postgres, accountId)).text
      }),
    ),
  )
  using bare = await startBare(stack, directory)

  const allEnded = async (client: Awaited<ReturnType<FaultStack['postgres']['connect']>>) => {
    const { rows } = await client.query('select from open_tasks limit 1')
    return rows.length === 0
  }
  const runTasks = async (count: number) => {
    const client = await stack.postgres.connect()
    try {
      await createTasks(stack, keys, count)
      await until('all tasks have ended', () => allEnded(client), { withinMs: endedWithinMs, everyMs: 100 })
    } finally {
      await client.end()
    }
  }
  const timed = async (count: number, cpu: () => Figures, work: () => Promise<void>): Promise<Figures> => {
    const steal = startStealShare()
    const before = cpu()
    const startedMs = performance.now()
    await work()
    const seconds = (performance.now() - startedMs) / 1000
    const used = per(minus(cpu(), before), count)
    return { ...used, cpu: total(used), 'tasks per second': count / seconds, steal: steal() }
  }
  const measureTasks = async (count: number): Promise<Figures> => {
    const work = await databaseWorkOf(stack)
    const invocations = await invocationsOf(stack, countFile)
    const figures = await timed(
      count,
      () => cpuOf(stack),
      () => runTasks(count),
    )
    const counted = minus(
      { ...(await databaseWorkOf(stack)), invocations: await invocationsOf(stack, countFile) },
      { ...work, invocations },
    )
    return { ...figures, ...per(counted, count) }
  }
  const cpuOfBare = (): Figures => ({ workflow: cpuMsOf(bare.pid), restate: cpuMsOf(stack.restate.pid()) })
  const measureBare = (count: number) => timed(count, cpuOfBare, () => bare.run(count))

  await runTasks(Math.min(tasks, warmUpTasks))
  await bare.run(Math.min(tasks, warmUpTasks))
  const kinora: Figures[] = []
  const bareFigures: Figures[] = []
  for (let round = 0; round < rounds; round += 1) {
    kinora.push(await measureTasks(tasks))
    bareFigures.push(await measureBare(tasks))
  }
  await sleep(settleMs)
  const before = cpuOf(stack)
  await sleep(idleMs)
  return { kinora, bare: bareFigures, idle: per(minus(cpuOf(stack), before), idleMs) }
}
