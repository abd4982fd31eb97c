import fc from 'fast-check'
import { expect, test } from 'vitest'

import {
  afterFailureMs,
  estimateProgress,
  nextPollMs,
  type DurationPercentiles,
  pollAfterMs,
  fallbackPollMs,
} from './poll-schedule.ts'

const bounds = { least: 500, most: 5_000 }

/** Durations from a tenth of a second to some hours; p95 is up to fifty times p5. */
const anyDurations = fc
  .tuple(
    fc.double({ min: 100, max: 10_000_000, noNaN: true }),
    fc.double({ min: 1, max: 7, noNaN: true }),
    fc.double({ min: 1, max: 7, noNaN: true }),
  )
  .map(([p5, once, again]): DurationPercentiles => ({ p5, p50: p5 * once, p95: p5 * once * again }))

/** Deterministic numbers below 1. */
const seeded = (seed: number) => {
  let state = seed >>> 0
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** When a job is polled until it is found done. */
const pollsOf = (durationMs: number, next: (elapsedMs: number) => number): number[] => {
  const polls: number[] = []
  for (let at = next(0); ; at += next(at)) {
    polls.push(at)
    if (at >= durationMs) return polls
  }
}

test('without known durations, polls become rarer with age and stay within the bounds', () => {
  fc.assert(
    fc.property(fc.nat(), fc.nat(), (one, other) => {
      const [earlier, later] = one < other ? [one, other] : [other, one]
      expect(nextPollMs(earlier, bounds)).toBeLessThanOrEqual(nextPollMs(later, bounds))
      expect(nextPollMs(one, bounds)).toBeGreaterThanOrEqual(bounds.least)
      expect(nextPollMs(one, bounds)).toBeLessThanOrEqual(bounds.most)
    }),
  )
})

test('a failed poll waits for Retry-After up to a minute, or a random time within the bounds', () => {
  expect(afterFailureMs(undefined, bounds, () => 0)).toBe(1_000)
  expect(afterFailureMs(undefined, bounds, () => 1)).toBe(5_000)
  expect(afterFailureMs(20_000, bounds)).toBe(20_000)
  expect(afterFailureMs(3_600_000, bounds)).toBe(60_000)
})

test('the suggested poll delay is one to five seconds, and short at first and near the end', () => {
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

test('with an estimate, the suggested delay leads to the first likely end, and is short from there on and at first', () => {
  const hint = (elapsedMs: number, min: number, max: number) => pollAfterMs(elapsedMs, 0, 120, { min, max })
  expect(hint(0, 60, 130)).toBe(1_000)
  expect(hint(8_000, 52, 122)).toBe(4_000)
  expect(hint(40_000, 300, 700)).toBe(15_000)
  expect(hint(48_000, 12, 82)).toBe(12_000)
  expect(hint(60_000, 0, 30)).toBe(3_000)
  expect(hint(60_000, 0, 200)).toBe(5_000)
  expect(hint(118_000, 0, 2)).toBe(1_000)
})

/** A client that reads after the suggested delays: how often it reads, and how late it notices the end. */
const follow = (endMs: number, hintAt: (elapsedMs: number) => number) => {
  let elapsedMs = 0
  let polls = 1
  while (elapsedMs < endMs) {
    elapsedMs += hintAt(elapsedMs)
    polls += 1
  }
  return { polls, lateMs: elapsedMs - endMs }
}

test('clients that follow the hint read less often with an estimate, and notice ends within five seconds', () => {
  // Tasks end evenly between these times, as nine of ten do between the percentiles of an estimate.
  for (const [fromSeconds, toSeconds] of [
    [20, 40],
    [60, 130],
    [240, 600],
  ] as const) {
    const usualSeconds = (fromSeconds + toSeconds) / 2
    const ends = Array.from(
      { length: 100 },
      (_, index) => 1_000 * (fromSeconds + ((toSeconds - fromSeconds) * (index + 0.5)) / 100),
    )
    const timeLeft = (elapsedMs: number) => {
      const elapsed = elapsedMs / 1000
      return { min: Math.max(0, fromSeconds - elapsed), max: Math.max(0, toSeconds - elapsed) }
    }
    const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
    const measure = (hintAt: (elapsedMs: number) => number) => {
      const followed = ends.map((endMs) => follow(endMs, hintAt))
      return {
        polls: mean(followed.map(({ polls }) => polls)),
        lateMs: mean(followed.map(({ lateMs }) => lateMs)),
        latestMs: Math.max(...followed.map(({ lateMs }) => lateMs)),
      }
    }
    const progressAt = (elapsedMs: number) => Math.min(99, (elapsedMs / (usualSeconds * 1000)) * 100)
    const without = measure((elapsedMs) => pollAfterMs(elapsedMs, progressAt(elapsedMs), usualSeconds))
    const withEstimate = measure((elapsedMs) => pollAfterMs(elapsedMs, 0, usualSeconds, timeLeft(elapsedMs)))
    expect(withEstimate.polls).toBeLessThan(0.75 * without.polls)
    expect(withEstimate.latestMs).toBeLessThanOrEqual(5_000)
  }
})

test('estimated progress is an integer of at most 95', () => {
  fc.assert(
    fc.property(fc.nat(), fc.integer({ min: 1, max: 1_000 }), (elapsedMs, usualSeconds) => {
      const progress = estimateProgress(elapsedMs, usualSeconds)
      expect(Number.isInteger(progress)).toBe(true)
      expect(progress).toBeGreaterThanOrEqual(0)
      expect(progress).toBeLessThanOrEqual(95)
    }),
  )
})

test('with known durations, a job within p95 has at most 25 polls, the first near p5 or a minute', () => {
  fc.assert(
    fc.property(
      anyDurations,
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.integer(),
      (durations, part, seed) => {
        const random = seeded(seed)
        const durationMs = durations.p95 * part
        const polls = pollsOf(durationMs, (elapsedMs) => nextPollMs(elapsedMs, bounds, durations, random))
        expect(polls.length).toBeLessThanOrEqual(25)
        expect(polls[0]).toBeGreaterThanOrEqual(Math.min(durations.p5, 60_000) * 0.9)
      },
    ),
  )
})

test('no poll comes before the minimum interval, and the first comes within a minute or a quarter of p5', () => {
  fc.assert(
    fc.property(anyDurations, fc.nat(100_000_000), fc.integer(), (durations, elapsedMs, seed) => {
      const random = seeded(seed)
      expect(nextPollMs(elapsedMs, bounds, durations, random)).toBeGreaterThanOrEqual(bounds.least)
      expect(fallbackPollMs(elapsedMs, bounds, durations, random)).toBeGreaterThanOrEqual(60_000)
      expect(nextPollMs(0, bounds, durations, random)).toBeLessThanOrEqual(
        Math.max(66_000, durations.p5 * 0.275),
      )
    }),
  )
})

test('a job beyond p95 is polled more and more rarely', () => {
  const durations = { p5: 5_000, p50: 8_000, p95: 10_000 }
  const gaps = [11_000, 20_000, 40_000, 80_000, 800_000].map((elapsedMs) =>
    nextPollMs(elapsedMs, { least: 500, most: 30_000 }, durations, () => 0.5),
  )
  expect(gaps).toEqual(gaps.toSorted((a, b) => a - b))
  expect(gaps[0]).toBeLessThan(1_500)
  expect(gaps.at(-1)).toBe(30_000)
})

test('polls have a jitter of a tenth in either direction', () => {
  const durations = { p5: 40_000, p50: 60_000, p95: 90_000 }
  expect(nextPollMs(0, bounds, durations, () => 0)).toBeCloseTo(36_000)
  expect(nextPollMs(0, bounds, durations, () => 1)).toBeCloseTo(44_000)
})

test('with webhooks, the first fallback poll comes at one and a half times p95', () => {
  const durations = { p5: 60_000, p50: 120_000, p95: 200_000 }
  expect(fallbackPollMs(0, bounds, durations, () => 0.5)).toBe(300_000)
  expect(fallbackPollMs(0, bounds, undefined, () => 0.5)).toBe(60_000)
})

test('progress estimated from durations never falls, and is 80 at p50 and 95 at p95', () => {
  fc.assert(
    fc.property(anyDurations, fc.nat(100_000_000), fc.nat(100_000_000), (durations, one, other) => {
      const [earlier, later] = one < other ? [one, other] : [other, one]
      expect(estimateProgress(earlier, 120, durations)).toBeLessThanOrEqual(
        estimateProgress(later, 120, durations),
      )
      expect(Number.isInteger(estimateProgress(one, 120, durations))).toBe(true)
      expect(estimateProgress(one, 120, durations)).toBeLessThanOrEqual(95)
    }),
  )
  const durations = { p5: 60_000, p50: 100_000, p95: 200_000 }
  expect([0, 50_000, 100_000, 200_000, 900_000].map((ms) => estimateProgress(ms, 120, durations))).toEqual([
    0, 40, 80, 95, 95,
  ])
})

/** Mean polls per job, and mean lateness as a share of the duration, for log-normal durations. */
const measure = (medianMs: number, sigma: number, durations?: DurationPercentiles) => {
  const random = seeded(7)
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  const jobs = 4_000
  let polls = 0
  let lateness = 0
  for (let job = 0; job < jobs; job += 1) {
    const durationMs = medianMs * Math.exp(sigma * normal())
    const interval = { least: 2_000, most: 15_000 }
    const times = pollsOf(durationMs, (elapsedMs) => nextPollMs(elapsedMs, interval, durations, random))
    polls += times.length
    lateness += ((times.at(-1) ?? 0) - durationMs) / durationMs
  }
  return { polls: polls / jobs, lateness: lateness / jobs }
}

const percentilesOf = (medianMs: number, sigma: number): DurationPercentiles => ({
  p5: medianMs * Math.exp(-1.645 * sigma),
  p50: medianMs,
  p95: medianMs * Math.exp(1.645 * sigma),
})

test('known durations reduce the polls of a two-minute job from 30 to 10, at the same lateness of 5 %', () => {
  const before = measure(120_000, 0.4)
  const now = measure(120_000, 0.4, percentilesOf(120_000, 0.4))
  expect(before.polls).toBeCloseTo(29.5, 0)
  expect(now.polls).toBeCloseTo(9.7, 0)
  expect(before.lateness).toBeCloseTo(0.046, 2)
  expect(now.lateness).toBeLessThan(0.055)
})

test('known durations reduce the polls of a ten-minute job from 65 to 12, at a lateness of 5 % instead of 1 %', () => {
  const before = measure(600_000, 0.4)
  const now = measure(600_000, 0.4, percentilesOf(600_000, 0.4))
  expect(before.polls).toBeCloseTo(64.6, -1)
  expect(now.polls).toBeCloseTo(12.4, 0)
  expect(before.lateness).toBeLessThan(0.02)
  expect(now.lateness).toBeLessThan(0.05)
})
