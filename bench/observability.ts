/**
 * What metrics and traces add to the cost of creates, status reads and tasks. They are switched on and off in the same processes,
 * because two processes with the same settings differ by more than what is looked for.
 */
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

import type { Part } from '../gateway/test/faults/part.ts'
import {
  createVideoOf,
  readVideosOf,
  startBenchStack,
  untilNoneIsOpen,
  type BenchStack,
} from './bench-stack.ts'
import { askProcess } from './measure/ask-process.ts'
import { cpuMsOf } from './measure/cpu-time.ts'
import { minus, per, total, type Figures } from './measure/figures.ts'
import { runLoad } from './measure/load.ts'
import type { Rounds } from './measure/rounds.ts'

export interface ObservabilityOptions {
  rounds: number
  /** The parts of a round, in which the arms take turns. What else runs on the machine changes within seconds. */
  slices: number
  /** Per slice. */
  creates: number
  reads: number
  tasks: number
}

const arms = ['off', 'metrics', 'traces'] as const
type Arm = (typeof arms)[number]

export interface ObservedRequests {
  create: Rounds<Arm>
  read: Rounds<Arm>
}

export interface ObservedLives {
  life: Rounds<Arm>
  /** Milliseconds of a scrape, and its series. */
  scrape: Record<'api' | 'worker', Figures>
}

const polledTasks = 1_000
const scrapes = 20
const askEveryMs = 2
const preload = new URL('measure/switch-observability.ts', import.meta.url)

/** Accepts what is sent to a collector and forgets it. */
const startCollector = async () => {
  const server = createServer((request, response) => {
    request.resume().once('end', () => response.setHeader('content-type', 'application/json').end('{}'))
  }).listen({ host: '127.0.0.1', port: 0 })
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/v1/traces`,
    [Symbol.dispose]: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

/** A service whose processes can be told what they record. */
const startSwitched = async (tracesUrl: string, directory: string) => {
  const file = join(directory, 'arm')
  const bench = await startBenchStack({
    isFromSource: true,
    environment: {
      NODE_OPTIONS: `--import ${preload.href}`,
      SWITCH_FILE: file,
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: tracesUrl,
    },
  })
  /** Returns where the metrics of each process are. */
  const switchTo = async (arm: Arm, roles: Part[]): Promise<string[]> => {
    await writeFile(file, arm)
    return Promise.all(roles.map((role) => askProcess(role.pid(), `${file}-${role.pid()}`, askEveryMs)))
  }
  /** What was recorded and not sent yet is sent at the end, and belongs to the cost. */
  const measure = async (arm: Arm, roles: Part[], count: number, work: () => Promise<unknown>) => {
    await switchTo(arm, roles)
    const before = bench.cpu()
    await work()
    await switchTo('off', roles)
    const used = per(minus(bench.cpu(), before), count)
    return { ...used, cpu: total(used) }
  }
  return { bench, switchTo, measure }
}

type Measure = (arm: Arm) => Promise<Figures>

/** The first round only warms up. */
const inTurns = async (measure: Measure, { rounds, slices }: ObservabilityOptions): Promise<Rounds<Arm>> => {
  const measured: Rounds<Arm> = { off: [], metrics: [], traces: [] }
  for (let round = 0; round <= rounds; round += 1) {
    const ofRound: Rounds<Arm> = { off: [], metrics: [], traces: [] }
    for (let slice = 0; slice < slices; slice += 1)
      for (const arm of slice % 2 === 0 ? arms : arms.toReversed()) ofRound[arm].push(await measure(arm))
    if (round > 0) for (const arm of arms) measured[arm].push(meansOf(ofRound[arm]))
  }
  return measured
}

const meansOf = (figures: Figures[]): Figures =>
  Object.fromEntries(
    Object.keys(figures[0] ?? {}).map((name) => [
      name,
      figures.reduce((sum, each) => sum + (each[name] ?? Number.NaN), 0) / figures.length,
    ]),
  )

const scrapeOften = async (role: Part, url: string): Promise<Figures> => {
  const scrape = async () => (await fetch(url)).text()
  const text = await scrape()
  const beforeMs = cpuMsOf(role.pid())
  for (let done = 0; done < scrapes; done += 1) await scrape()
  const series = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return { cpu: (cpuMsOf(role.pid()) - beforeMs) / scrapes, series: series.length, bytes: text.length }
}

const idsOf = async ({ stack, keys: [key] }: BenchStack): Promise<string[]> => {
  const rows = await stack.postgres.query<{ id: string }>(
    'select id from video_tasks where account_id = $1 limit $2',
    [key?.accountId, polledTasks],
  )
  return rows.map(({ id }) => id)
}

export const measureObservedRequests = async (
  options: ObservabilityOptions,
  directory: string,
): Promise<ObservedRequests> => {
  using collector = await startCollector()
  const { bench, measure } = await startSwitched(collector.url, directory)
  await using _ = bench
  const { creates, reads } = options
  const { stack, keys, origin } = bench
  const [api] = stack.apis
  // Only the requests are measured here, not the work that they lead to.
  await stack.workers[0].kill()
  await runLoad(origin, createVideoOf(keys.slice(0, 1)), { until: { count: polledTasks } })
  const create = createVideoOf(keys)
  const created = await inTurns(
    (arm) => measure(arm, [api], creates, () => runLoad(origin, create, { until: { count: creates } })),
    options,
  )
  const readOne = readVideosOf(await idsOf(bench), keys[0])
  const read = await inTurns(
    (arm) => measure(arm, [api], reads, () => runLoad(origin, readOne, { until: { count: reads } })),
    options,
  )
  return { create: created, read }
}

export const measureObservedLives = async (
  options: ObservabilityOptions,
  directory: string,
): Promise<ObservedLives> => {
  using collector = await startCollector()
  const { bench, measure, switchTo } = await startSwitched(collector.url, directory)
  await using _ = bench
  const { tasks } = options
  const { stack, keys, origin } = bench
  const roles = [stack.apis[0], stack.workers[0]]
  const create = createVideoOf(keys, 'vendor:duration=0')
  const life = await inTurns(
    (arm) =>
      measure(arm, roles, tasks, async () => {
        await runLoad(origin, create, { until: { count: tasks } })
        await untilNoneIsOpen(stack)
      }),
    options,
  )
  const [api = '', worker = ''] = await switchTo('metrics', roles)
  await runLoad(origin, create, { until: { count: tasks } })
  await untilNoneIsOpen(stack)
  const scrape = {
    api: await scrapeOften(stack.apis[0], api),
    worker: await scrapeOften(stack.workers[0], worker),
  }
  return { life, scrape }
}
