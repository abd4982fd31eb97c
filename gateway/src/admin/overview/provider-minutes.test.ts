import { describe, expect, test } from 'vitest'

import { fillMinutes, judgeMinute } from './provider-minutes.ts'

const calls = { calls: 10, errors: 0, p50Ms: 1_000, hourP50Ms: 1_000 }

describe('a minute', () => {
  test.each([
    ['without calls', { calls: 0 }, 'none'],
    ['without errors', {}, 'healthy'],
    ['with one error of ten', { errors: 1 }, 'healthy'],
    ['with two errors of ten', { errors: 2 }, 'failing'],
    ['as slow as usual', { p50Ms: 2_000 }, 'healthy'],
    ['more than twice as slow as usual', { p50Ms: 2_001 }, 'slow'],
    ['of short calls', { p50Ms: 400, hourP50Ms: 20 }, 'healthy'],
    ['of unknown duration', { p50Ms: null }, 'healthy'],
  ])('%s', (_, given, expected) => {
    expect(judgeMinute({ ...calls, ...given })).toBe(expected)
  })
})

test('the hour ends with the current minute and has no gaps', () => {
  const row = { provider: 'acme', p95Ms: 7, ...calls }
  const minutes = fillMinutes(
    [
      { ...row, at: 3_600 },
      { ...row, at: 60 },
    ],
    3_659,
  )
  expect(minutes).toHaveLength(60)
  expect(minutes[0]).toEqual({ at: 60, requests: 10, errors: 0, p95_ms: 7, state: 'healthy' })
  expect(minutes[1]).toEqual({ at: 120, requests: 0, errors: 0, p95_ms: null, state: 'none' })
  expect(minutes[59]).toMatchObject({ at: 3_600, requests: 10 })
})
