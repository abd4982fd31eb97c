/** `npm run bench -- customers/choosing` */
import { expect, test } from 'vitest'

import { options } from '../options.ts'
import { printRounds } from '../report/print.ts'
import { writeResult } from '../report/results.ts'
import { measureChoosing } from './choosing.ts'

const queue = (keys: number, tasksPerKey: number, inFlight = 0) => ({ keys, tasksPerKey, inFlight })

test('choosing the next tasks of many keys', async () => {
  const settings = options(
    {
      queues: [
        queue(1, 100_000),
        queue(100, 1_000),
        queue(1_000, 100),
        queue(1_000, 100, 5),
        queue(10_000, 10),
      ],
      ...{ free: 300, rounds: 5 },
    },
    { queues: [queue(10, 100)], free: 30, rounds: 1 },
  )
  const figures = await measureChoosing(settings)
  for (const { keys, tasksPerKey, inFlight, choosing } of figures) {
    printRounds(`${keys} keys, each with ${tasksPerKey} waiting tasks and ${inFlight} in flight`, choosing)
    for (const { postgres } of Object.values(choosing).flat()) expect(postgres).toBeGreaterThan(0)
  }
  await writeResult('choosing', settings, figures)
})
