import fc from 'fast-check'
import { expect, test } from 'vitest'

import {
  afterFailureMs,
  estimateProgress,
  nextPollMs,
  type JobDuration,
  pollAfterMs,
  safetyPollMs,
} from './poll-schedule.ts'

const bounds = { least: 500, most: 5_000 }

/** Lengths of jobs from a tenth of a second to some hours, the slowest up to fifty times as long as the quickest. */
const jobDurations = fc
  .tuple(
    fc.double({ min: 100, max: 10_000_000, noNaN: true }),
    fc.double({ min: 1, max: 7, noNaN: true }),
    fc.double({ min: 1, max: 7, noNaN: true }),
  )
  .map(([p5, once, again]): JobDuration => ({ p5, p50: p5 * once, p95: p5 * once * again }))

/** Numbers below 1 that are the same for the same seed. */
const seeded = (seed: number) => {
  let state = seed >>> 0
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** When a job is looked at until it is found done. */
const looksAt = (lengthMs: number, next: (elapsedMs: number) => number): number[] => {
  const looks: number[] = []
  for (let at = next(0); ; at += next(at)) {
    looks.push(at)
    if (at >= lengthMs) return looks
  }
}

test('checks come often at first and then ever more seldom, always within the bounds', () => {
  fc.assert(
    fc.property(fc.nat(), fc.nat(), (one, other) => {
      const [earlier, later] = one < other ? [one, other] : [other, one]
      expect(nextPollMs(earlier, bounds)).toBeLessThanOrEqual(nextPollMs(later, bounds))
      expect(nextPollMs(one, bounds)).toBeGreaterThanOrEqual(bounds.least)
      expect(nextPollMs(one, bounds)).toBeLessThanOrEqual(bounds.most)
    }),
  )
})

test('a provider that asks for a pause gets it, within a minute; without one, jobs come back spread out', () => {
  expect(afterFailureMs(undefined, bounds, () => 0)).toBe(1_000)
  expect(afterFailureMs(undefined, bounds, () => 1)).toBe(5_000)
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

test('with a known pace a job within p95 has at most 25 checks, none before its first look is due', () => {
  fc.assert(
    fc.property(
      jobDurations,
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.integer(),
      (pace, part, seed) => {
        const random = seeded(seed)
        const lengthMs = pace.p95 * part
        const looks = looksAt(lengthMs, (elapsedMs) => nextPollMs(elapsedMs, bounds, pace, random))
        expect(looks.length).toBeLessThanOrEqual(25)
        expect(looks[0]).toBeGreaterThanOrEqual(Math.min(pace.p5, 60_000) * 0.9)
      },
    ),
  )
})

test('whatever the pace, no check comes before the least gap, and a first one within a minute or a quarter of p5', () => {
  fc.assert(
    fc.property(jobDurations, fc.nat(100_000_000), fc.integer(), (pace, elapsedMs, seed) => {
      const random = seeded(seed)
      expect(nextPollMs(elapsedMs, bounds, pace, random)).toBeGreaterThanOrEqual(bounds.least)
      expect(safetyPollMs(elapsedMs, bounds, pace, random)).toBeGreaterThanOrEqual(60_000)
      expect(nextPollMs(0, bounds, pace, random)).toBeLessThanOrEqual(Math.max(66_000, pace.p5 * 0.275))
    }),
  )
})

test('a job that takes unusually long is looked at ever more seldom', () => {
  const pace = { p5: 5_000, p50: 8_000, p95: 10_000 }
  const gaps = [11_000, 20_000, 40_000, 80_000, 800_000].map((elapsedMs) =>
    nextPollMs(elapsedMs, { least: 500, most: 30_000 }, pace, () => 0.5),
  )
  expect(gaps).toEqual(gaps.toSorted((a, b) => a - b))
  expect(gaps[0]).toBeLessThan(1_500)
  expect(gaps.at(-1)).toBe(30_000)
})

test('jobs of one burst are looked at a tenth earlier or later than each other', () => {
  const pace = { p5: 40_000, p50: 60_000, p95: 90_000 }
  expect(nextPollMs(0, bounds, pace, () => 0)).toBeCloseTo(36_000)
  expect(nextPollMs(0, bounds, pace, () => 1)).toBeCloseTo(44_000)
})

test('where news is brought, the first look comes after half again as long as nearly all jobs take', () => {
  const pace = { p5: 60_000, p50: 120_000, p95: 200_000 }
  expect(safetyPollMs(0, bounds, pace, () => 0.5)).toBe(300_000)
  expect(safetyPollMs(0, bounds, undefined, () => 0.5)).toBe(60_000)
})

test('an estimate by the pace only ever rises, to 80 for half of the jobs and 95 for nearly all', () => {
  fc.assert(
    fc.property(jobDurations, fc.nat(100_000_000), fc.nat(100_000_000), (pace, one, other) => {
      const [earlier, later] = one < other ? [one, other] : [other, one]
      expect(estimateProgress(earlier, 120, pace)).toBeLessThanOrEqual(estimateProgress(later, 120, pace))
      expect(Number.isInteger(estimateProgress(one, 120, pace))).toBe(true)
      expect(estimateProgress(one, 120, pace)).toBeLessThanOrEqual(95)
    }),
  )
  const pace = { p5: 60_000, p50: 100_000, p95: 200_000 }
  expect([0, 50_000, 100_000, 200_000, 900_000].map((ms) => estimateProgress(ms, 120, pace))).toEqual([
    0, 40, 80, 95, 95,
  ])
})

/** Mean checks per job, and mean lateness as a share of the job's length, for log-normal lengths. */
const measure = (medianMs: number, sigma: number, pace?: JobDuration) => {
  const random = seeded(7)
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  const jobs = 4_000
  let polls = 0
  let lateness = 0
  for (let job = 0; job < jobs; job += 1) {
    const lengthMs = medianMs * Math.exp(sigma * normal())
    const usual = { least: 2_000, most: 15_000 }
    const looks = looksAt(lengthMs, (elapsedMs) => nextPollMs(elapsedMs, usual, pace, random))
    polls += looks.length
    lateness += ((looks.at(-1) ?? 0) - lengthMs) / lengthMs
  }
  return { polls: polls / jobs, lateness: lateness / jobs }
}

const jobDurationOf = (medianMs: number, sigma: number): JobDuration => ({
  p5: medianMs * Math.exp(-1.645 * sigma),
  p50: medianMs,
  p95: medianMs * Math.exp(1.645 * sigma),
})

test('jobs of two minutes take 10 checks instead of 30, and are found 5 % of their length late as before', () => {
  const before = measure(120_000, 0.4)
  const now = measure(120_000, 0.4, jobDurationOf(120_000, 0.4))
  expect(before.polls).toBeCloseTo(29.5, 0)
  expect(now.polls).toBeCloseTo(9.7, 0)
  expect(before.lateness).toBeCloseTo(0.046, 2)
  expect(now.lateness).toBeLessThan(0.055)
})

test('jobs of ten minutes take 12 checks instead of 65, for being found 5 % of their length late instead of 1 %', () => {
  const before = measure(600_000, 0.4)
  const now = measure(600_000, 0.4, jobDurationOf(600_000, 0.4))
  expect(before.polls).toBeCloseTo(64.6, -1)
  expect(now.polls).toBeCloseTo(12.4, 0)
  expect(before.lateness).toBeLessThan(0.02)
  expect(now.lateness).toBeLessThan(0.05)
})
