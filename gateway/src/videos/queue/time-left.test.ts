import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import type { Range } from '../../routing/queue-position.ts'
import { timeLeftOfJob, timeLeftOfWaiting } from './time-left.ts'

const durations = { p5: 40_000, p50: 60_000, p95: 90_000 }

describe('of a job', () => {
  test('is the range of most durations, less the elapsed time', () => {
    const first = timeLeftOfJob(durations, 0)
    expect(first?.min).toBe(40)
    expect(first?.max).toBeGreaterThanOrEqual(90)
    expect(timeLeftOfJob(durations, 10_000)).toEqual({ min: 30, max: (first?.max ?? 0) - 10 })
    expect(timeLeftOfJob(durations, 60_000)?.min).toBe(0)
  })

  test('is unknown once the job has run longer than almost all others', () => {
    expect(timeLeftOfJob(durations, 120_000)).toBeUndefined()
  })
})

describe('of a waiting task', () => {
  const position = { min: 10, max: 20 }

  test('is the wait at the measured rate and the job', () => {
    const waited = { position, slots: 5, startsPerSecond: { min: 0.5, max: 2 } }
    const { min, max } = timeLeftOfWaiting(durations, waited)
    expect(min).toBe((10 - 5) / 2 + 40 - 0.5)
    expect(max).toBeGreaterThanOrEqual(21 / 0.5 + 90)
  })

  test('follows from the slots if no rate was measured', () => {
    const { min, max } = timeLeftOfWaiting(durations, { position, slots: 5, startsPerSecond: undefined })
    expect(min).toBe(40 + 40)
    expect(max).toBeGreaterThanOrEqual((21 / 5) * 90 + 90)
  })
})

test('property: a range is in order and never negative, and shrinks with the elapsed time', () => {
  const percentiles = fc
    .tuple(fc.integer({ min: 1, max: 3_600_000 }), fc.double({ min: 1, max: 50, noNaN: true }))
    .map(([p5, ratio]) => ({ p5, p50: p5 * Math.sqrt(ratio), p95: p5 * ratio }))
  const range = fc.tuple(fc.nat(10_000), fc.nat(10_000)).map(([min, more]) => ({ min, max: min + more }))
  const rates = fc.option(
    fc
      .tuple(fc.double({ min: 0.001, max: 100, noNaN: true }), fc.double({ min: 1, max: 4, noNaN: true }))
      .map(([rate, factor]) => ({ min: rate / factor, max: rate * factor })),
    { nil: undefined },
  )
  const isInOrder = ({ min, max }: Range) =>
    Number.isInteger(min) && Number.isInteger(max) && min >= 0 && min <= max
  fc.assert(
    fc.property(
      percentiles,
      range,
      rates,
      fc.integer({ min: 1, max: 1000 }),
      fc.nat(4_000_000),
      (known, position, startsPerSecond, slots, elapsedMs) => {
        expect(isInOrder(timeLeftOfWaiting(known, { position, slots, startsPerSecond }))).toBe(true)
        const [now, later] = [timeLeftOfJob(known, elapsedMs), timeLeftOfJob(known, elapsedMs + 1_000)]
        if (now !== undefined) expect(isInOrder(now)).toBe(true)
        if (now === undefined) expect(later).toBeUndefined()
        else expect(later?.max ?? 0).toBeLessThanOrEqual(now.max)
      },
    ),
  )
})

/** A reproducible sequence of numbers between 0 and 1. */
const createRandom = (seed: number) => {
  let state = seed
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32
    return (state + 1) / (2 ** 32 + 1)
  }
}

test('after learning, most of simulated tasks finish within the range that was given when they arrived', () => {
  const random = createRandom(7)
  const durationMs = () => {
    const normal = Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random())
    return 60_000 * Math.exp(0.4 * normal)
  }
  const learned = Array.from({ length: 200 }, durationMs).toSorted((a, b) => a - b)
  const quantile = (share: number) => learned[Math.floor(share * learned.length)] ?? 0
  const known = { p5: quantile(0.05), p50: quantile(0.5), p95: quantile(0.95) }
  const slots = 10
  const freeAtMs = Array.from({ length: slots }, () => 0)
  const starts: number[] = []
  let nowMs = 0
  let within = 0
  const tasks = 2_000
  for (let task = 0; task < tasks; task += 1) {
    // Tasks arrive at about the rate at which the slots can take them, so that the queue grows and shrinks.
    nowMs += (-Math.log(random()) * 66_000) / slots
    const ahead = starts.filter((startMs) => startMs > nowMs).length
    const range = timeLeftOfWaiting(known, {
      position: { min: ahead, max: ahead },
      ...{ slots, startsPerSecond: undefined },
    })
    const slot = freeAtMs.indexOf(Math.min(...freeAtMs))
    const startMs = Math.max(nowMs, freeAtMs[slot] ?? 0)
    const endMs = startMs + durationMs()
    freeAtMs[slot] = endMs
    starts.push(startMs)
    const tookSeconds = (endMs - nowMs) / 1000
    if (tookSeconds >= range.min && tookSeconds <= range.max) within += 1
  }
  expect(within / tasks).toBeGreaterThan(0.9)
})
