import { expect, test } from 'vitest'

import { isChangeSince } from './wait-for-task.ts'

const pending = { state: 'pending', progress: 0 } as const
const halfway = { state: 'processing', progress: 50 } as const

test('only an event that changes the known state counts as a change', () => {
  expect(isChangeSince(pending, { kind: 'accepted', data: {} })).toBe(false)
  expect(isChangeSince(pending, { kind: 'processing', data: {} })).toBe(true)
  expect(isChangeSince(halfway, { kind: 'processing', data: {} })).toBe(false)
  expect(isChangeSince(halfway, { kind: 'progress', data: { progress: 50 } })).toBe(false)
  expect(isChangeSince(halfway, { kind: 'progress', data: { progress: 51 } })).toBe(true)
  expect(isChangeSince(halfway, { kind: 'completed', data: {} })).toBe(true)
  expect(isChangeSince(pending, { kind: 'failed', data: { code: 'task_timeout' } })).toBe(true)
})
