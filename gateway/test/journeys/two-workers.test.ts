import { expect, test } from 'vitest'

import { startStack } from '../kit/stack.ts'

test('after one of two workers is killed for good, the other completes all its tasks', async () => {
  await using stack = await startStack({ vendorDurationMs: 1_500, workers: 2, slots: 60 })
  await Promise.all(Array.from({ length: 60 }, (_, index) => stack.create(`A whale, number ${index}`)))
  // A machine that stands still may miss that some are at the vendor.
  await stack.until('tasks are at the vendor, or half are completed', async () => {
    const { waiting = 0, completed = 0 } = { ...(await stack.stages()), ...(await stack.states()) }
    return waiting >= 10 || completed >= 30
  })
  const before = (await stack.states())['completed'] ?? 0
  await stack.workers[0]?.kill()
  const toFirst = await stack.until(
    'a further task is completed',
    async () => ((await stack.states())['completed'] ?? 0) > Math.min(before, 59),
  )
  const toLast = await stack.until(
    'all are completed',
    async () => (await stack.states())['completed'] === 60,
  )
  console.log(
    `one of two workers killed for good: the next task completed ${Math.round(toFirst)} ms later, ` +
      `all ${60 - before} remaining ones ${Math.round(toFirst + toLast)} ms later`,
  )
  await stack.assertLedger({ completed: 60, failed: 0 })
  expect(stack.vendor.jobs().length).toBe(60)
})
