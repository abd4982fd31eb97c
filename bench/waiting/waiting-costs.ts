/** What waiting clients cost, as far as it does not depend on the machine: statements, and memory of the heap. */
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

import { until } from '../../gateway/test/faults/part.ts'
import { createVideoOf, startBenchStack, type BenchStack } from '../bench-stack.ts'
import { readWork } from '../measure/database-work.ts'
import { runLoad } from '../measure/load.ts'
import { collectGarbage, collectGarbageIn } from '../measure/memory.ts'
import { startWaitingClients } from './clients.ts'
import { manyClients } from './many-clients.ts'

export interface WaitingCosts {
  /** KiB of the heap per client. */
  heap: { streams: number; polls: number }
  /** Statements about events while clients of each kind wait, by the number of these clients. */
  idle: { clients: number; statements: number; looks: number }[]
}

const idleMs = 16_000

/** Executions of all statements about events of tasks, and of those that look for changes of any task. */
const countEventStatements = async ({ stack }: BenchStack) => {
  const { statements } = await readWork(stack)
  const executions = (matches: (text: string) => boolean) =>
    [...statements].reduce((sum, [text, count]) => sum + (matches(text) ? count : 0), 0)
  return {
    statements: executions((text) => /^\s*select[^]*from\s[^]*task_events/.test(text)),
    looks: executions((text) => text.includes('array_agg(distinct e.task_id)')),
  }
}

export const measureWaitingCosts = async (sizes: number[]): Promise<WaitingCosts> => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'kinora-costs-'))
  const collectedFile = join(directory.path, 'collected')
  await using bench = await startBenchStack({
    environment: { ...manyClients, ...collectGarbageIn(collectedFile) },
  })
  const { stack, keys, origin } = bench
  const [api] = stack.apis
  // Nothing changes while no worker runs.
  await stack.workers[0].kill()
  const [key] = keys
  if (key === undefined) throw new Error('there is no key')
  const ids: string[] = []
  const most = Math.max(...sizes)
  await runLoad(origin, createVideoOf([key]), {
    until: { count: most },
    onBody: (text) => ids.push((JSON.parse(text) as { id: string }).id),
  })
  await using waiting = await startWaitingClients(origin, ids, [key.text])
  const heapKib = async () => (await collectGarbage(api.pid(), collectedFile)).heapUsed / 1024
  /** After the second look, what clients read at their start has been read. */
  const untilLooked = async () => {
    const { looks } = await countEventStatements(bench)
    const hasLooked = async () => (await countEventStatements(bench)).looks >= looks + 2
    await until('the process has looked for changes', hasLooked)
  }
  const idle: WaitingCosts['idle'] = []
  let open = 0
  let heap = { streams: 0, polls: 0 }
  for (const clients of sizes) {
    const added = clients - open
    open = clients
    const before = await heapKib()
    await waiting.open('streams', added)
    const withStreams = await heapKib()
    await waiting.open('polls', added)
    await untilLooked()
    const withBoth = await heapKib()
    // Those of the first size also load code.
    heap = { streams: (withStreams - before) / added, polls: (withBoth - withStreams) / added }
    const start = await countEventStatements(bench)
    await pause(idleMs)
    const end = await countEventStatements(bench)
    idle.push({ clients, statements: end.statements - start.statements, looks: end.looks - start.looks })
  }
  const { streams, polls } = await waiting.report()
  if (streams.failures + polls.failures > 0) throw new Error(`${streams.lastFailure} ${polls.lastFailure}`)
  return { heap, idle }
}
