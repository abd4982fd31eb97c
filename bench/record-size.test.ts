/** `npm run bench -- record-size` */
import { expect, test } from 'vitest'

import { options } from './options.ts'
import { measureRecordSize } from './record-size.ts'
import { printRounds } from './report/print.ts'
import { writeResult } from './report/results.ts'

test('the bytes of a video and of a request', async () => {
  const settings = options({ tasks: 2_000, reads: 10_000 }, { tasks: 100, reads: 500 })
  const figures = await measureRecordSize(settings)
  printRounds('bytes', { video: [figures.video], read: [figures.read] })
  expect(figures.video['ledger_entries']).toBeGreaterThan(0)
  await writeResult('record-size', settings, figures)
})
