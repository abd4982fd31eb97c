/** `npm run bench -- requests` */
import { expect, test } from 'vitest'

import { options } from './options.ts'
import { printRounds } from './report/print.ts'
import { writeResult } from './report/results.ts'
import { measureRequests } from './requests.ts'

test('the cost of create and read', async () => {
  const settings = options({ rounds: 5, ms: 5_000 }, { rounds: 1, ms: 500 })
  const figures = await measureRequests(settings)
  for (const [name, rounds] of Object.entries(figures)) {
    printRounds(name, rounds)
    for (const { cpu } of [...rounds.kinora, ...rounds.bare]) expect(cpu).toBeGreaterThan(0)
  }
  await writeResult('requests', settings, figures)
})
