import { expect, test } from 'vitest'

import { startStack } from '../kit/stack.ts'

test('a submit with an unknown outcome is never repeated at a vendor without idempotent submits', async () => {
  await using stack = await startStack({
    providerSettings: { idempotentSubmits: false },
    environment: { TASK_DEADLINE_SECONDS: '6' },
  })
  await stack.create('A vendor:drop-reply whale')
  await stack.until('the task has ended', async () => (await stack.states())['failed'] === 1)
  expect(stack.vendor.jobs().length).toBe(1)
  expect(stack.vendor.counts().submits).toBe(1)
  await stack.assertLedger({ completed: 0, failed: 1 })
})

test('a vendor with lookups resolves an unknown outcome without a second submit', async () => {
  await using stack = await startStack({ providerSettings: { idempotentSubmits: false, lookup: true } })
  await stack.create('A vendor:drop-reply whale')
  await stack.until('the task has ended', async () => (await stack.states())['completed'] === 1)
  expect(stack.vendor.counts().submits).toBe(1)
  await stack.assertLedger({ completed: 1, failed: 0 })
})
