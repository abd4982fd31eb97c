/** `npm run bench -- recorded-values` */
import { expect, test } from 'vitest'

import { options } from './options.ts'
import { measureValues } from './recorded-values.ts'
import { writeResult } from './report/results.ts'

test('the cost of a recorded value', async () => {
  const settings = options({ rounds: 20, times: 200_000 }, { rounds: 1, times: 10_000 })
  const figures = await measureValues(settings)
  console.log(figures)
  for (const { off, on } of Object.values(figures)) expect(on).toBeGreaterThan(off)
  await writeResult('recorded-values', settings, figures)
})
