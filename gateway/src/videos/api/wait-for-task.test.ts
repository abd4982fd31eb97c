import { expect, test } from 'vitest'

import { isNewsTo } from './wait-for-task.ts'

const pending = { state: 'pending', progress: 0 } as const
const halfway = { state: 'processing', progress: 50 } as const

test('only what came after the task was seen is news', () => {
  expect(isNewsTo(pending, { kind: 'accepted', data: {} })).toBe(false)
  expect(isNewsTo(pending, { kind: 'processing', data: {} })).toBe(true)
  expect(isNewsTo(halfway, { kind: 'processing', data: {} })).toBe(false)
  expect(isNewsTo(halfway, { kind: 'progress', data: { progress: 50 } })).toBe(false)
  expect(isNewsTo(halfway, { kind: 'progress', data: { progress: 51 } })).toBe(true)
  expect(isNewsTo(halfway, { kind: 'completed', data: {} })).toBe(true)
  expect(isNewsTo(pending, { kind: 'failed', data: { code: 'task_timeout' } })).toBe(true)
})
