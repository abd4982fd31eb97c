/** `npm run bench -- media`. The S3 store needs Ceph. */
import { expect, test } from 'vitest'

import { measureMedia, type MediaOptions } from './media.ts'
import { options } from './options.ts'
import { printRounds } from './report/print.ts'
import { writeResult } from './report/results.ts'

const results: MediaOptions['results'] = [
  { megabytes: 1, layout: 'tables last', tasks: 40 },
  { megabytes: 8, layout: 'tables last', tasks: 16 },
  { megabytes: 8, layout: 'tables first', tasks: 16 },
  { megabytes: 80, layout: 'tables last', tasks: 3 },
]

test('the cost of results by size and store, of a bare copy, and of curl', async () => {
  const settings: MediaOptions & Record<string, unknown> = options(
    { stores: ['disk', 's3'], results, emptyTasks: 60, rounds: 2 },
    {
      stores: ['disk', 's3'],
      results: results.map((each) => ({ ...each, tasks: 4 })),
      emptyTasks: 20,
      rounds: 1,
    },
  )
  const figures = []
  for (const store of settings.stores) {
    const measured = await measureMedia(store, settings)
    figures.push(measured)
    printRounds(`${store}, empty results`, { kinora: measured.empty })
    for (const { megabytes, layout, rounds } of measured.results) {
      printRounds(`${store}, ${megabytes} MB, ${layout}`, rounds)
      for (const { cpu } of Object.values(rounds).flat()) expect(cpu).toBeGreaterThan(0)
    }
  }
  await writeResult('media', settings, figures)
})
