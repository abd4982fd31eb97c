/**
 * What a task costs with more workers while the tasks come at a fixed rate, far below what the machine can do. What the
 * processes do without tasks is measured before and subtracted.
 */
import { mkdtempDisposable, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import type { FaultStack } from '../../gateway/test/faults/fault-stack.ts'
import { createVideoOf, startBenchStack, untilNoneIsOpen, type BenchStack } from '../bench-stack.ts'
import { cpuMsOf, startStealShare } from '../measure/cpu-time.ts'
import { readTotals } from '../measure/database-work.ts'
import { minus, per, type Figures } from '../measure/figures.ts'
import { countInvocationsIn, invocationsOf } from '../measure/invocations.ts'
import { runLoad } from '../measure/load.ts'
import { runSteadily } from '../measure/steady-load.ts'

export interface SteadyOptions {
  workers: number[]
  perSecond: number
  /** Of each measurement. */
  tasks: number
  rounds: number
  idleMs: number
  /** So many tasks for each worker before, so that all of them have compiled their code. */
  warmUpTasks: number
}

export interface SteadyFigures {
  workers: number
  /** Per second, without tasks. */
  idle: Figures[]
  /** Per task, without what is done without tasks. */
  task: Figures[]
}

/** Sessions without work report their row writes after ten seconds. */
const flushMs = 11_000
/** So that what few workers execute is compiled as well as with many. */
const warmUpTasksMin = 300
/** After the tasks that warm up. */
const calmMs = 4_000

/** Waits for locks that are longer are counted. */
const lockWaitMs = 2

/** Vacuum comes at times of its own, and would count for one measurement or another. */
const settings = [
  'autovacuum=off',
  `deadlock_timeout=${lockWaitMs}ms`,
  'log_lock_waits=on',
  'max_connections=400',
]

const countLockWaits = async ({ directory }: FaultStack): Promise<number> =>
  (await readFile(join(directory, 'logs', 'postgres.log'), 'utf8')).split(' still waiting for ').length - 1

interface Reading {
  atMs: number
  figures: Figures
}

const readCpu = ({ cpu }: BenchStack): Reading => ({ atMs: performance.now(), figures: cpu() })

const readCounts = async ({ stack }: BenchStack, countFile: string): Promise<Reading> => {
  const { advanceVideo = 0, ...loops } = await invocationsOf(stack, countFile)
  return {
    atMs: performance.now(),
    figures: {
      ...(await readTotals(stack)),
      'lock waits': await countLockWaits(stack),
      'invocations of runs': advanceVideo,
      ...Object.fromEntries(Object.entries(loops).map(([name, count]) => [`ticks of ${name}`, count])),
    },
  }
}

const perMs = (before: Reading, after: Reading): Figures =>
  per(minus(after.figures, before.figures), after.atMs - before.atMs)

/**
 * What happened between two readings beyond what happens without tasks. Row writes are reported too late to be divided so, and
 * without tasks there are few.
 */
const beyondIdle = (before: Reading, after: Reading, idlePerMs: Figures): Figures => {
  const elapsedMs = after.atMs - before.atMs
  return Object.fromEntries(
    Object.entries(minus(after.figures, before.figures)).map(([name, value]) => [
      name,
      value - (name === 'writes' ? 0 : (idlePerMs[name] ?? 0) * elapsedMs),
    ]),
  )
}

/** How many tasks a worker has executed most of, as a share of all. */
const busiestShare = (before: number[], after: number[]): number => {
  const used = after.map((value, index) => value - (before[index] ?? 0))
  return Math.max(...used) / used.reduce((sum, value) => sum + value, 0)
}

export const measureSteadily = async (
  options: SteadyOptions,
  onMeasured: (figures: SteadyFigures) => void,
): Promise<SteadyFigures[]> => {
  const { perSecond, tasks, rounds, idleMs, warmUpTasks } = options
  const figures: SteadyFigures[] = []
  await using directory = await mkdtempDisposable(join(tmpdir(), 'kinora-bench-'))
  const countFile = join(directory.path, 'invocations')
  for (const workers of options.workers) {
    await using bench = await startBenchStack({
      processes: { apis: 1, workers },
      moreSettings: settings,
      environment: { ...countInvocationsIn(countFile), DATABASE_CONNECTIONS: '8' },
    })
    const { stack, keys, origin } = bench
    const create = createVideoOf(keys, 'vendor:duration=0')
    const cpuOfWorkers = () => stack.workers.map((worker) => cpuMsOf(worker.pid()))
    await runLoad(origin, create, { until: { count: Math.max(warmUpTasksMin, warmUpTasks * workers) } })
    await untilNoneIsOpen(stack)
    const found: SteadyFigures = { workers, idle: [], task: [] }
    for (let round = 0; round < rounds; round += 1) {
      await sleep(calmMs)
      const start = await readCounts(bench, countFile)
      const idleFrom = readCpu(bench)
      await sleep(idleMs)
      const idleTo = readCpu(bench)
      const idleEnd = await readCounts(bench, countFile)
      const idle = { ...perMs(idleFrom, idleTo), ...perMs(start, idleEnd) }
      const steal = startStealShare()
      const workersBefore = cpuOfWorkers()
      const loadFrom = readCpu(bench)
      await runSteadily(origin, create, { perSecond, count: tasks })
      await untilNoneIsOpen(stack)
      const loadTo = readCpu(bench)
      const busiest = busiestShare(workersBefore, cpuOfWorkers())
      const stolen = steal()
      await sleep(flushMs)
      const loadEnd = await readCounts(bench, countFile)
      const ofTasks = { ...beyondIdle(loadFrom, loadTo, idle), ...beyondIdle(idleEnd, loadEnd, idle) }
      found.idle.push(per(idle, 1 / 1000))
      found.task.push({ ...per(ofTasks, tasks), 'busiest worker': busiest, steal: stolen })
    }
    figures.push(found)
    onMeasured(found)
  }
  return figures
}
