import fc from 'fast-check'
import { expect, test } from 'vitest'

import { backoffMs } from './backoff.ts'

const chance = fc.double({ min: 0, max: 1, noNaN: true })

test('waits have full jitter, and their limit doubles up to a minute', () => {
  expect([0, 1, 2, 20].map((attempt) => backoffMs(attempt, undefined, () => 1))).toEqual([
    500, 1_000, 2_000, 60_000,
  ])
  expect(backoffMs(5, undefined, () => 0)).toBe(0)
})

test('a wait is never shorter than Retry-After', () => {
  fc.assert(
    fc.property(fc.nat(2_000), fc.nat(86_400_000), chance, (attempt, retryAfterMs, drawn) => {
      expect(backoffMs(attempt, retryAfterMs, () => drawn)).toBeGreaterThanOrEqual(retryAfterMs)
    }),
  )
})
