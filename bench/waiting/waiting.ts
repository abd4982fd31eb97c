/**
 * What clients cost that only wait for their tasks, with event streams and with long polls: memory and processor time of one
 * API process, and the latency of the requests of others.
 */
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { Pool } from 'undici'

import { until } from '../../gateway/test/faults/part.ts'
import { createVideoOf, readVideosOf, startBenchStack, type BenchStack } from '../bench-stack.ts'
import { minus, per, type Figures } from '../measure/figures.ts'
import { runLoad } from '../measure/load.ts'
import { collectGarbage, collectGarbageIn, memoryKibOf } from '../measure/memory.ts'
import { profileDirectory } from '../measure/profile.ts'
import { startWaitingClients } from './clients.ts'
import type { HoldReport } from './hold-clients.ts'
import { manyClients } from './many-clients.ts'

export interface WaitingOptions {
  /** Clients of each kind. Each task has one of each. */
  clients: number
  windowMs: number
  othersPerSecond: number
}

/** With which clients, and whether tasks change meanwhile. */
export interface WaitingWindow {
  streams: number
  polls: number
  isChanging: boolean
  /** The share of one processor that each process uses. */
  busy: Figures
  /** Latency of status reads of others, in milliseconds. */
  p50: number
  p99: number
  /** Per second: changes of tasks, and what the clients have received. */
  changes: number
  received: number
  kibPerSecond: number
}

export interface WaitingFigures {
  /** KiB per client of the API process, without garbage. */
  memory: Record<'streams' | 'polls', { resident: number; heap: number }>
  windows: WaitingWindow[]
  failures: number
}

/** A job that reports another percent every 100 seconds: with so many tasks, each hundred changes once a second. */
const jobMs = 10_000_000
const waitingWithinMs = 1_200_000
const isProfiling = profileDirectory() !== undefined

/** Sends status reads of other tasks at a steady rate, whether or not earlier ones were answered. */
const measureOthers = async (
  { origin, keys }: BenchStack,
  ids: string[],
  { windowMs, othersPerSecond }: WaitingOptions,
) => {
  const pool = new Pool(origin, { connections: 16, pipelining: 1 })
  const requestOf = readVideosOf(ids, keys[0])
  const durations: number[] = []
  const read = async (index: number) => {
    const sentMs = performance.now()
    const { statusCode, body } = await pool.request(requestOf(index))
    if (statusCode !== 200) throw new Error(`a read failed: ${statusCode} ${await body.text()}`)
    await body.dump()
    durations.push(performance.now() - sentMs)
  }
  const reads: Promise<void>[] = []
  const startedMs = performance.now()
  for (let index = 0; index < (windowMs / 1000) * othersPerSecond; index += 1) {
    await sleep(Math.max(0, startedMs + (index * 1000) / othersPerSecond - performance.now()))
    reads.push(read(index))
  }
  await Promise.all(reads)
  await pool.destroy()
  durations.sort((a, b) => a - b)
  const at = (share: number) => durations[Math.floor(durations.length * share)] ?? Number.NaN
  return { p50: at(0.5), p99: at(0.99) }
}

const sumOf = (report: HoldReport, name: 'changes' | 'idle' | 'bytes' | 'failures') =>
  report.streams[name] + report.polls[name]

export const measureWaiting = async (options: WaitingOptions): Promise<WaitingFigures> => {
  const { clients, windowMs } = options
  await using directory = await mkdtempDisposable(join(tmpdir(), 'kinora-bench-'))
  const collectedFile = join(directory.path, 'collected')
  await using bench = await startBenchStack({
    providerSettings: { slots: 100_000, pollIntervalMsMin: 2_000, pollIntervalMsMax: 15_000 },
    environment: { ...manyClients, ...(!isProfiling && collectGarbageIn(collectedFile)) },
  })
  const { stack, keys, origin } = bench
  const [api] = stack.apis
  const [worker] = stack.workers
  const ids: string[] = []
  const onBody = (text: string) => ids.push((JSON.parse(text) as { id: string }).id)
  // The tasks of one key: any key may wait, but only for tasks of its account.
  const [key] = keys
  if (key === undefined) throw new Error('there is no key')
  await runLoad(origin, createVideoOf([key], `vendor:at-once vendor:duration=${jobMs}`), {
    until: { count: clients },
    onBody,
  })
  const others = ids.slice(0, 100)
  await until(
    'all tasks wait at the provider',
    async () => {
      const [row] = await stack.postgres.query<{ count: number }>(
        `select count(*)::int as count from open_tasks where stage = 'waiting'`,
      )
      return (row?.count ?? 0) >= clients
    },
    { withinMs: waitingWithinMs, everyMs: 500 },
  )
  await using waiting = await startWaitingClients(origin, ids, [key.text])

  const countChanges = async () => {
    const [row] = await stack.postgres.query<{ count: number }>(
      'select count(*)::int as count from task_events',
    )
    return row?.count ?? 0
  }
  const windows: WaitingWindow[] = []
  const measureWindow = async (isChanging: boolean) => {
    const before = { report: await waiting.report(), changes: await countChanges(), cpu: bench.cpu() }
    const startedMs = performance.now()
    const latencies = await measureOthers(bench, others, options)
    const ms = performance.now() - startedMs
    const busy = per(minus(bench.cpu(), before.cpu), ms)
    const report = await waiting.report()
    const perSecond = (after: number, earlier: number) => ((after - earlier) * 1000) / ms
    const window = {
      ...{ streams: report.streams.open, polls: report.polls.open, isChanging, busy, ...latencies },
      changes: perSecond(await countChanges(), before.changes),
      received: perSecond(sumOf(report, 'changes'), sumOf(before.report, 'changes')),
      kibPerSecond: perSecond(sumOf(report, 'bytes'), sumOf(before.report, 'bytes')) / 1024,
    }
    console.log(JSON.stringify(window))
    windows.push(window)
  }
  const memoryOfApi = async () => {
    const usage = isProfiling ? undefined : await collectGarbage(api.pid(), collectedFile)
    return { resident: memoryKibOf(api.pid()), heap: (usage?.heapUsed ?? 0) / 1024 }
  }

  // The requests of others have warmed up.
  await measureOthers(bench, others, options)
  await measureWindow(true)
  await worker.kill('SIGTERM')
  await measureWindow(false)
  const empty = await memoryOfApi()
  await waiting.open('streams', clients)
  const withStreams = await memoryOfApi()
  console.log(empty, withStreams, await waiting.report())
  await measureWindow(false)
  await waiting.open('polls', clients)
  const withBoth = await memoryOfApi()
  console.log(withBoth, await waiting.report())
  await measureWindow(false)
  await worker.start()
  await sleep(windowMs)
  await measureWindow(true)
  await waiting.close('polls')
  await measureWindow(true)
  const { streams, polls } = await waiting.report()
  console.log(streams, polls)
  await waiting.close('streams')
  await sleep(1_000)
  await measureWindow(true)
  return {
    memory: {
      streams: per(minus(withStreams, empty), clients) as { resident: number; heap: number },
      polls: per(minus(withBoth, withStreams), clients) as { resident: number; heap: number },
    },
    windows,
    failures: streams.failures + polls.failures,
  }
}
