/** `npm run bench -- processes` */
import { expect, test } from 'vitest'

import { options } from '../options.ts'
import { printRounds } from '../report/print.ts'
import { writeResult } from '../report/results.ts'
import { measureProcesses } from './processes.ts'

test('more workers and more APIs', async () => {
  const settings = options({ tasks: 600, rounds: 3, ms: 3_000 }, { tasks: 50, rounds: 1, ms: 500 })
  const figures = await measureProcesses(settings)
  for (const { apis, workers, life, read } of figures) {
    printRounds(`${apis} APIs, ${workers} workers`, { life, read })
    for (const { cpu } of [...life, ...read]) expect(cpu).toBeGreaterThan(0)
  }
  await writeResult('processes', settings, figures)
})
