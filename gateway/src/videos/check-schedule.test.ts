import fc from 'fast-check'
import { expect, test } from 'vitest'

import { afterFailureMs, estimateProgress, nextCheckMs, pollAfterMs } from './check-schedule.ts'

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

test('a reader is told one to five seconds: soon at first, soon near the end', () => {
  expect(pollAfterMs(0, 0, 120)).toBe(1_000)
  expect(pollAfterMs(30_000, 20, 120)).toBe(3_000)
  expect(pollAfterMs(60_000, 40, 120)).toBe(5_000)
  expect(pollAfterMs(100_000, 80, 120)).toBe(2_400)
  expect(pollAfterMs(115_000, 95, 120)).toBe(1_000)
  fc.assert(
    fc.property(
      fc.nat(),
      fc.integer({ min: 0, max: 100 }),
      fc.integer({ min: 1, max: 1_000 }),
      (...given) => {
        expect(pollAfterMs(...given)).toBeGreaterThanOrEqual(1_000)
        expect(pollAfterMs(...given)).toBeLessThanOrEqual(5_000)
      },
    ),
  )
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
