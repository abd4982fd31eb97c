/** What tasks cost that only wait at a provider, and what it costs to choose the next ones beside them. */
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import type { FaultStack } from '../gateway/test/faults/fault-stack.ts'
import { until } from '../gateway/test/faults/part.ts'
import { createVideoOf, startBenchStack, type BenchStack } from './bench-stack.ts'
import { median, minus, per, type Figures } from './measure/figures.ts'
import { runLoad } from './measure/load.ts'
import { collectGarbage, collectGarbageIn, memoryKibOf } from './measure/memory.ts'
import { profileDirectory } from './measure/profile.ts'

export interface InFlightOptions {
  sizes: number[]
  windowMs: number
}

export interface InFlightFigures {
  tasks: number
  /** The share of one processor that each process uses. */
  busy: Figures
  /** KiB per task in flight, by process, without garbage. */
  memory: Figures
  pollsPerSecond: number
  /** Seconds by which the most overdue poll was late, and how many were late by more than one interval. */
  overdueSeconds: number
  overdueTasks: number
  /** Milliseconds of one execution of the statement that chooses the next tasks; the median of some rounds. */
  chooseMs: number
}

/** The default of a provider. */
const pollIntervalMsMax = 15_000
const settings = { slots: 100_000, pollIntervalMsMin: 2_000, pollIntervalMsMax }
const chosenTasks = 500
const chooseRounds = 5
const noEndMs = 3_600_000
const waitingWithinMs = 1_200_000

/** A profile has NODE_OPTIONS of its own, so garbage counts as memory then. */
const isProfiling = profileDirectory() !== undefined

const memoryOf = async (
  { apis: [api], workers: [worker], restate }: FaultStack,
  collectedFile: string,
): Promise<Figures> => {
  if (!isProfiling) await Promise.all([api, worker].map((role) => collectGarbage(role.pid(), collectedFile)))
  return {
    api: memoryKibOf(api.pid()),
    worker: memoryKibOf(worker.pid()),
    restate: memoryKibOf(restate.pid()),
  }
}

const isChoosing = `query like '%with recursive in_flight%' and query not like '%pg_stat%'`

const measureChoosing = async ({ stack, origin, keys }: BenchStack, isSettled: () => Promise<boolean>) => {
  const read = async () => {
    const [row] = await stack.postgres.query<{ ms: number; calls: number }>(
      `select coalesce(sum(total_exec_time), 0)::float8 as ms, coalesce(sum(calls), 0)::float8 as calls
         from pg_stat_statements where ${isChoosing}`,
    )
    return row ?? { ms: 0, calls: 0 }
  }
  const before = await read()
  await runLoad(origin, createVideoOf(keys, 'vendor:duration=0'), { until: { count: chosenTasks } })
  await until('the new tasks have ended', isSettled, { withinMs: waitingWithinMs, everyMs: 200 })
  const after = await read()
  return (after.ms - before.ms) / (after.calls - before.calls)
}

const measureWindow = async (bench: BenchStack, windowMs: number) => {
  const { stack, cpu } = bench
  const polls = async () => (await stack.vendors.repeatable.counts()).polls
  const before = { cpu: cpu(), polls: await polls() }
  const startedMs = performance.now()
  await sleep(windowMs)
  const ms = performance.now() - startedMs
  const busy = per(minus(cpu(), before.cpu), ms)
  const pollsPerSecond = ((await polls()) - before.polls) / (ms / 1000)
  const [overdue] = await stack.postgres.query<{ seconds: number; tasks: number }>(
    `select coalesce(max(extract(epoch from now() - next_poll_at)), 0)::float8 as seconds,
            count(*) filter (where next_poll_at < now() - make_interval(secs => $1))::int as tasks
       from open_tasks where stage = 'waiting'`,
    [pollIntervalMsMax / 1000],
  )
  return {
    busy,
    pollsPerSecond,
    overdueSeconds: Math.max(0, overdue?.seconds ?? 0),
    overdueTasks: overdue?.tasks ?? 0,
  }
}

export const measureInFlight = async ({ sizes, windowMs }: InFlightOptions): Promise<InFlightFigures[]> => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'kinora-bench-'))
  const collectedFile = join(directory.path, 'collected')
  await using bench = await startBenchStack({
    providerSettings: settings,
    ...(!isProfiling && { environment: collectGarbageIn(collectedFile) }),
  })
  const { stack, keys, origin } = bench
  const countOpen = async (stage: string) => {
    const [row] = await stack.postgres.query<{ count: number }>(
      `select count(*)::int as count from open_tasks where ${stage}`,
    )
    return row?.count ?? 0
  }
  const create = createVideoOf(keys, `vendor:duration=${noEndMs}`)
  // Loads what a process loads with its first tasks.
  await measureChoosing(bench, async () => (await countOpen('true')) === 0)
  const empty = await memoryOf(stack, collectedFile)
  const figures: InFlightFigures[] = []
  let open = 0
  for (const tasks of sizes) {
    await runLoad(origin, create, { until: { count: tasks - open } })
    open = tasks
    await until(
      'all tasks wait at the provider',
      async () => (await countOpen(`stage = 'waiting'`)) >= tasks,
      {
        withinMs: waitingWithinMs,
        everyMs: 200,
      },
    )
    const window = await measureWindow(bench, windowMs)
    const memory = per(minus(await memoryOf(stack, collectedFile), empty), tasks)
    const chooseMs: number[] = []
    for (let round = 0; round < chooseRounds; round += 1)
      chooseMs.push(await measureChoosing(bench, async () => (await countOpen('true')) === tasks))
    figures.push({ tasks, memory, chooseMs: median(chooseMs), ...window })
  }
  return figures
}
