/** What a task costs in statements and calls of the engine does not grow with the workers. Only counts, so no time matters. */
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { createVideoOf, startBenchStack, untilNoneIsOpen } from '../bench-stack.ts'
import { countInvocationsIn, invocationsOf } from '../measure/invocations.ts'
import { runLoad } from '../measure/load.ts'
import { countTaskStatements } from '../measure/task-statements.ts'

const bursts = 6
const tasksPerBurst = 8

/** With one worker a task has about 6 statements, of which the time at which its ticks happen decides some. */
const ratioMax = 1.4
/** Without calls of several runs it is exactly 2. */
const runCallsMax = 1.2

test('with four workers a task needs hardly more statements than with one, and no more calls of the engine', async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'kinora-workers-'))
  const countFile = join(directory.path, 'invocations')
  await using bench = await startBenchStack({
    processes: { apis: 1, workers: 4 },
    environment: countInvocationsIn(countFile),
  })
  const { stack, keys, origin } = bench
  const create = createVideoOf(keys, 'vendor:duration=0')
  const runBurst = async () => {
    await runLoad(origin, create, { connections: tasksPerBurst, until: { count: tasksPerBurst } })
    await untilNoneIsOpen(stack)
  }
  const read = async () => ({
    statements: await countTaskStatements(stack),
    runCalls: (await invocationsOf(stack, countFile))['advanceVideo'] ?? 0,
  })
  const measure = async () => {
    const before = await read()
    for (let burst = 0; burst < bursts; burst += 1) await runBurst()
    const after = await read()
    const tasks = bursts * tasksPerBurst
    return {
      statements: (after.statements - before.statements) / tasks,
      runCalls: (after.runCalls - before.runCalls) / tasks,
    }
  }
  await runBurst()
  const four = await measure()
  const [, ...others] = stack.workers
  await Promise.all(others.map((worker) => worker.kill('SIGTERM')))
  await runBurst()
  const one = await measure()
  console.log({ one, four })
  expect(four.statements).toBeLessThan(one.statements * ratioMax)
  for (const { runCalls } of [one, four]) expect(runCalls).toBeLessThan(runCallsMax)
})
