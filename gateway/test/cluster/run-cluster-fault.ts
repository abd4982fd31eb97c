/** Causes one fault while customers use the service, and judges every task afterwards. */
import { startClient } from '../faults/client.ts'
import { judge } from '../faults/judge.ts'
import { until } from '../faults/part.ts'
import { countBefore, haveEnded, isRateBack, windowMs } from '../faults/recovery.ts'
import { countCompleted, damageNames, seconds, windDown } from '../faults/run-fault.ts'
import { findStalls } from '../faults/stalls.ts'
import type { ClusterFault } from './cluster-faults.ts'
import type { ClusterStack } from './cluster-stack.ts'

interface ClusterResult {
  line: string
  tasks: number
  /** The names of the figures that are not zero. */
  problems: string[]
  examples: string[]
}

const completedBefore = 10
const stuckAfterMs = 240_000

export const runClusterFault = async (
  stack: ClusterStack,
  { run }: ClusterFault,
  options: Parameters<ClusterFault['run']>[1],
  createsPerSecond: number,
): Promise<ClusterResult> => {
  const crashesBefore = stack.crashes.length
  const startedAtMs = Date.now()
  const client = await startClient(stack, { createsPerSecond, models: ['repeatable'], openTasksMax: 400 })
  let recoveryMs: number | undefined
  let faultMs = 0
  let outageMs = 0
  try {
    await until(
      'the first tasks are completed',
      async () => (await countCompleted(stack, client)) >= completedBefore,
    )
    const causedAtMs = Date.now()
    const before = await countBefore(stack, client, causedAtMs)
    await run(stack, options)
    const repairedAtMs = Date.now()
    faultMs = repairedAtMs - causedAtMs
    const within = { withinMs: stuckAfterMs, everyMs: 250 }
    const isOver = async (what: string, holds: () => Promise<boolean>) =>
      until(what, holds, within).then(
        () => Date.now(),
        () => undefined,
      )
    const [endedAtMs, backAtMs] = await Promise.all([
      isOver('the tasks of the fault have ended', () => haveEnded(stack, client, repairedAtMs)),
      isOver('tasks are completed at the rate of before', () =>
        isRateBack(stack, client, before, repairedAtMs),
      ),
    ])
    if (endedAtMs !== undefined && backAtMs !== undefined)
      recoveryMs = Math.max(endedAtMs, backAtMs - windowMs) - repairedAtMs
    outageMs = client.outages.longestMs(causedAtMs)
    await windDown(stack, client, recoveryMs === undefined ? 0 : stuckAfterMs)
  } finally {
    await client.end()
  }
  const stalls = await findStalls(stack, startedAtMs)
  const { damage, tasks, examples } = await judge(stack, client, {
    crashes: stack.crashes.slice(crashesBefore),
  })
  const found = Object.entries(damage).map(
    ([name, count]) => [damageNames[name as keyof typeof damage], count] as const,
  )
  const problems = [
    ...found.flatMap(([name, count]) => (count > 0 ? name : [])),
    ...(recoveryMs === undefined ? ['recovery'] : []),
  ]
  const retried = client.creates.filter(({ attempts }) => attempts > 1).length
  const line = [
    `${tasks} tasks`,
    ...found.map(([name, count]) => `${name} ${count}`),
    `fault ${seconds(faultMs)} s`,
    `creates retried ${retried}, none confirmed for ${seconds(outageMs)} s`,
    recoveryMs === undefined ? 'not recovered' : `recovered in ${seconds(recoveryMs)} s`,
    ...stalls,
    problems.length === 0 ? 'ok' : `FAILED (${problems.join(', ')})`,
  ]
  return { line: line.join('  '), tasks, problems, examples }
}
