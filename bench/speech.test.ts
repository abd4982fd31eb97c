/** `npm run bench -- speech` */
import { expect, test } from 'vitest'

import { options } from './options.ts'
import { printRounds } from './report/print.ts'
import { writeResult } from './report/results.ts'
import { measureSpeech } from './speech.ts'

test('the cost of speech that is passed on', async () => {
  const settings = options({ rounds: 5, ms: 5_000 }, { rounds: 1, ms: 500 })
  const figures = await measureSpeech(settings)
  for (const [name, rounds] of Object.entries(figures)) {
    printRounds(`speech, ${name}`, rounds)
    for (const { cpu } of [...rounds.kinora, ...rounds.portkey]) expect(cpu).toBeGreaterThan(0)
  }
  await writeResult('speech', settings, figures)
})
