/** `npm run bench -- life` */
import { expect, test } from 'vitest'

import { measureLife } from './life.ts'
import { options } from './options.ts'
import { printRounds } from './report/print.ts'
import { writeResult } from './report/results.ts'

test('the cost of a video, of a bare workflow and of a queue by hand', async () => {
  const settings = options(
    { tasks: 1_000, rounds: 4, idleMs: 30_000 },
    { tasks: 100, rounds: 1, idleMs: 5_000 },
  )
  const figures = await measureLife(settings)
  const { life, idle } = figures
  printRounds('life of a task', life)
  printRounds('idle, share of one processor', { kinora: [idle] })
  for (const { cpu } of Object.values(life).flat()) expect(cpu).toBeGreaterThan(0)
  await writeResult('life', settings, figures)
})
