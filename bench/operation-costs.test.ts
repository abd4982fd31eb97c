/** No operation may cost more than recorded. With SHOW_STATEMENTS=1 the statements are printed. */
import { expect, test } from 'vitest'

import {
  lifeOfTask,
  lifeWithWebhook,
  measureCosts,
  recordedCosts,
  recordedLife,
  recordedLifeWithWebhook,
  type Cost,
} from './operation-costs.ts'

const tolerance = 1.15

test('the cost of operations is as recorded', async () => {
  const { [lifeOfTask]: life, [lifeWithWebhook]: withWebhook, ...measured } = await measureCosts()
  console.log({ life, withWebhook, ...measured })
  expect(measured).toEqual(recordedCosts)
  for (const [costs, limits] of [
    [life, recordedLife],
    [withWebhook, recordedLifeWithWebhook],
  ] as const) {
    for (const [name, limit] of Object.entries(limits))
      expect(costs?.[name as keyof Cost], name).toBeLessThanOrEqual(limit * tolerance)
  }
})
