/** Shows that the count of statements (operation-costs.test.ts) can fail. */
import { expect, test } from 'vitest'

import { measureCosts, recordedCosts } from './operation-costs.ts'

test('one statement more is counted', async () => {
  const mutation = {
    file: 'videos/api/list-videos.ts',
    find: `    const { accountId } = call.caller\n`,
    replace: `    const { accountId } = call.caller\n    await database.query('select 1 as planted')\n`,
  }
  const { listVideos } = await measureCosts({ mutation, operations: ['listVideos'] })
  expect(listVideos?.statements).toBe((recordedCosts['listVideos']?.statements ?? 0) + 1)
})
