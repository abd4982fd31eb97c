/** `npm run bench -- growth` */
import { expect, test } from 'vitest'

import { measureGrowth } from './growth.ts'
import { options } from './options.ts'
import { printRounds } from './report/print.ts'
import { writeResult } from './report/results.ts'

test('the cost of requests with a large record', { timeout: 7_200_000 }, async () => {
  const settings = options(
    { sizes: [10_000, 100_000, 1_000_000], rounds: 4, ms: 3_000 },
    { sizes: [2_000], rounds: 1, ms: 500 },
  )
  const figures = await measureGrowth(settings)
  for (const { rows, operations } of figures) {
    for (const [name, rounds] of Object.entries(operations)) {
      printRounds(`${name}, ${rows} tasks`, rounds)
      for (const { cpu } of [...rounds.empty, ...rounds.full]) expect(cpu).toBeGreaterThan(0)
    }
  }
  await writeResult('growth', settings, figures)
})
