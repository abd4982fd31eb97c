/** `npm run bench -- processes/engine-check` */
import { expect, test } from 'vitest'

import { options } from '../options.ts'
import { printRounds } from '../report/print.ts'
import { writeResult } from '../report/results.ts'
import { measureCheck } from './engine-check.ts'

test('the comparison with the engine', async () => {
  const settings = options(
    { tasks: 100_000, withRun: [0, 1_000, 10_000, 100_000], checks: 5 },
    { tasks: 1_000, withRun: [0, 100], checks: 1 },
  )
  const figures = await measureCheck(settings)
  for (const { tasks, withRun, invocations, intervalMs, cpu } of figures) {
    printRounds(
      `${tasks} tasks, ${withRun} with a run, ${invocations} invocations, every ${intervalMs / 1000} s`,
      { 'CPU of a comparison, ms': cpu },
    )
    expect(cpu.length).toBe(settings.checks)
  }
  await writeResult('engine-check', settings, figures)
})
