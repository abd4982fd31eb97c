/** `npm run bench -- waiting` */
import { expect, test } from 'vitest'

import { options } from '../options.ts'
import { writeResult } from '../report/results.ts'
import { measureWaiting } from './waiting.ts'

test('the cost of clients that wait', async () => {
  const settings = options(
    { clients: 9_900, windowMs: 10_000, othersPerSecond: 100 },
    { clients: 300, windowMs: 3_000, othersPerSecond: 50 },
  )
  const figures = await measureWaiting(settings)
  console.log(JSON.stringify(figures.memory))
  expect(figures.failures).toBe(0)
  await writeResult('waiting', settings, figures)
})
