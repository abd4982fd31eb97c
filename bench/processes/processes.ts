/** What more workers and more APIs bring on one machine: tasks and status reads per second, and what each costs. */
import {
  createVideoOf,
  readVideosOf,
  startBenchStack,
  untilNoneIsOpen,
  type BenchStack,
} from '../bench-stack.ts'
import { startStealShare } from '../measure/cpu-time.ts'
import { minus, per, total, type Figures } from '../measure/figures.ts'
import { runLoad } from '../measure/load.ts'

export interface ProcessOptions {
  tasks: number
  rounds: number
  ms: number
}

interface Processes {
  apis: 1 | 2
  workers: number
}

export interface ProcessFigures extends Processes {
  /** Per task, from its create to its end. */
  life: Figures[]
  /** Per status read. */
  read: Figures[]
}

const measured: Processes[] = [
  { apis: 1, workers: 1 },
  { apis: 1, workers: 2 },
  { apis: 1, workers: 4 },
  { apis: 2, workers: 2 },
]
const polledTasks = 1_000

const measureLives = async ({ stack, keys, cpu }: BenchStack, origins: string[], tasks: number) => {
  const create = createVideoOf(keys, 'vendor:duration=0')
  const steal = startStealShare()
  const before = cpu()
  const startedMs = performance.now()
  const until = { count: Math.ceil(tasks / origins.length) }
  const sent = await Promise.all(
    origins.map((origin) => runLoad(origin, create, { connections: 32 / origins.length, until })),
  )
  await untilNoneIsOpen(stack)
  const seconds = (performance.now() - startedMs) / 1000
  const count = sent.reduce((sum, load) => sum + load.count, 0)
  const used = per(minus(cpu(), before), count)
  return { ...used, cpu: total(used), 'per second': count / seconds, steal: steal() }
}

const measureReads = async (
  { stack, keys: [key], cpu }: BenchStack,
  origins: string[],
  ms: number,
): Promise<Figures> => {
  const rows = await stack.postgres.query<{ id: string }>(
    'select id from video_tasks where account_id = $1 limit $2',
    [key?.accountId, polledTasks],
  )
  const read = readVideosOf(
    rows.map(({ id }) => id),
    key,
  )
  const steal = startStealShare()
  const before = cpu()
  const options = { connections: 32 / origins.length, until: { ms } }
  const loads = await Promise.all(origins.map((origin) => runLoad(origin, read, options)))
  const used = per(
    minus(cpu(), before),
    loads.reduce((sum, { count }) => sum + count, 0),
  )
  const perSecond = loads.reduce((sum, { figures }) => sum + (figures['per second'] ?? 0), 0)
  return { ...used, cpu: total(used), 'per second': perSecond, steal: steal() }
}

export const measureProcesses = async ({ tasks, rounds, ms }: ProcessOptions): Promise<ProcessFigures[]> => {
  const figures: ProcessFigures[] = []
  for (const processes of measured) {
    await using bench = await startBenchStack({ processes })
    const origins = bench.stack.origins.slice(0, processes.apis)
    const life: Figures[] = []
    const read: Figures[] = []
    // The first round only warms up.
    for (let round = 0; round <= rounds; round += 1) {
      const ofRound = [
        await measureLives(bench, origins, tasks),
        await measureReads(bench, origins, ms),
      ] as const
      if (round === 0) continue
      life.push(ofRound[0])
      read.push(ofRound[1])
    }
    figures.push({ ...processes, life, read })
  }
  return figures
}
