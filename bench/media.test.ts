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

const settings: MediaOptions & Record<string, unknown> = options(
  { results, emptyTasks: 60, rounds: 2 },
  { results: results.map((each) => ({ ...each, tasks: 4 })), emptyTasks: 20, rounds: 1 },
)

test.each(['disk', 's3'] as const)(
  'the cost of results in %s, of a bare copy, and of curl',
  async (store) => {
    const figures = await measureMedia(store, settings)
    printRounds(`${store}, empty results`, { kinora: figures.empty })
    for (const { megabytes, layout, rounds } of figures.results) {
      printRounds(`${store}, ${megabytes} MB, ${layout}`, rounds)
      for (const { cpu } of Object.values(rounds).flat()) expect(cpu).toBeGreaterThan(0)
    }
    await writeResult(`media-${store}`, settings, figures)
  },
)
