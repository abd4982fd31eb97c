/** `npm run bench -- processes/steady` */
import { expect, test } from 'vitest'

import { options } from '../options.ts'
import { printRounds } from '../report/print.ts'
import { writeResult } from '../report/results.ts'
import { measureSteadily } from './steady.ts'

test('more workers at the same rate', async () => {
  const settings = options(
    { workers: [1, 2, 4, 8, 16], perSecond: 25, tasks: 225, rounds: 1, idleMs: 7_000, warmUpTasks: 30 },
    { workers: [1, 2], perSecond: 10, tasks: 20, rounds: 1, idleMs: 1_000, warmUpTasks: 5 },
  )
  const figures = await measureSteadily(settings, ({ workers, idle, task }) =>
    printRounds(`${workers} workers`, { 'idle, per second': idle, 'per task': task }),
  )
  for (const { task } of figures) for (const { statements } of task) expect(statements).toBeGreaterThan(0)
  await writeResult('processes-steady', settings, figures)
})
