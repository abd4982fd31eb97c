/** `npm run bench -- in-flight` */
import { expect, test } from 'vitest'

import { measureInFlight } from './in-flight.ts'
import { options } from './options.ts'
import { writeResult } from './report/results.ts'

test('the cost of tasks that wait at a provider', async () => {
  const settings = options(
    { sizes: [1_000, 5_000, 20_000], windowMs: 30_000 },
    { sizes: [100, 200], windowMs: 3_000 },
  )
  const figures = await measureInFlight(settings)
  for (const each of figures) {
    console.log(JSON.stringify(each))
    expect(each.chooseMs).toBeGreaterThan(0)
  }
  await writeResult('in-flight', settings, figures)
})
