import fc from 'fast-check'
import { expect, test } from 'vitest'

import { afterFailureMs, estimateProgress, nextCheckMs } from './check-schedule.ts'

const bounds = { least: 500, most: 5_000 }

test('checks come often at first and then ever more seldom, always within the bounds', () => {
  fc.assert(
    fc.property(fc.nat(), fc.nat(), (one, other) => {
      const [earlier, later] = one < other ? [one, other] : [other, one]
      expect(nextCheckMs(earlier, bounds)).toBeLessThanOrEqual(nextCheckMs(later, bounds))
      expect(nextCheckMs(one, bounds)).toBeGreaterThanOrEqual(bounds.least)
      expect(nextCheckMs(one, bounds)).toBeLessThanOrEqual(bounds.most)
    }),
  )
})

test('a provider that asks for a pause gets it, within a minute', () => {
  expect(afterFailureMs(undefined, bounds)).toBe(1_000)
  expect(afterFailureMs(20_000, bounds)).toBe(20_000)
  expect(afterFailureMs(3_600_000, bounds)).toBe(60_000)
})

test('an estimate is a whole number that never says it is done', () => {
  fc.assert(
    fc.property(fc.nat(), fc.integer({ min: 1, max: 1_000 }), (elapsedMs, usualSeconds) => {
      const progress = estimateProgress(elapsedMs, usualSeconds)
      expect(Number.isInteger(progress)).toBe(true)
      expect(progress).toBeGreaterThanOrEqual(0)
      expect(progress).toBeLessThanOrEqual(95)
    }),
  )
})
