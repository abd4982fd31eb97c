import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import type { Range } from '../../routing/queue-position.ts'
import { bucketOf, histogramOf, type DurationHistogram } from '../polling/duration-histogram.ts'
import { taskDurationRatio } from '../polling/task-duration-store.ts'
import { timeLeftOfRunning, timeLeftOfWaiting } from './time-left.ts'

/** The histogram of observed durations, as it is stored. */
const observed = (durationsMs: number[]): DurationHistogram =>
  histogramOf(
    taskDurationRatio,
    durationsMs.map((ms) => ({ bucket: bucketOf(ms, taskDurationRatio), weight: 1 })),
  )

/** A reproducible sequence of numbers between 0 and 1. */
const createRandom = (seed: number) => {
  let state = seed
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32
    return (state + 1) / (2 ** 32 + 1)
  }
}

const minutes = observed(Array.from({ length: 101 }, (_, index) => 40_000 + index * 500))

describe('of a running task', () => {
  test('is the range of most durations that are longer than its own so far', () => {
    const first = timeLeftOfRunning(minutes, 0)
    expect(first?.min).toBeGreaterThan(34)
    expect(first?.max).toBeLessThan(102)
    expect(timeLeftOfRunning(minutes, 30_000)).toEqual({
      min: (first?.min ?? 0) - 30,
      max: (first?.max ?? 0) - 30,
    })
    // It has already survived the shorter ones.
    const late = timeLeftOfRunning(minutes, 80_000)
    expect(late?.min).toBeLessThan(3)
    expect(late?.max).toBeLessThan(22)
  })

  test('is unknown once it has run longer than almost all others', () => {
    expect(timeLeftOfRunning(minutes, 120_000)).toBeUndefined()
  })
})

describe('of a waiting task', () => {
  const constant = observed([60_000])
  const waiting = (position: number, elapsedMs: number) =>
    timeLeftOfWaiting({
      durations: constant,
      durationsAhead: constant,
      position: { min: position, max: position },
      slots: 1,
      inFlight: { tasks: 1, known: [{ durations: constant, elapsedMs }] },
    })

  test('has a lower bound that counts what is in front of it', () => {
    for (const position of [0, 1, 2]) {
      const { min, max } = waiting(position, 30_000)
      const seconds = 30 + position * 60 + 60
      expect(min).toBeLessThan(seconds)
      expect(min).toBeGreaterThan(seconds * 0.8)
      expect(max).toBeGreaterThan(seconds)
      expect(max).toBeLessThan(seconds * 1.2)
    }
  })

  test('is shorter the longer the task in flight has run', () => {
    expect(waiting(0, 50_000).max).toBeLessThan(waiting(0, 5_000).min)
  })

  test('starts at once if a slot is free', () => {
    const { max } = timeLeftOfWaiting({
      durations: constant,
      durationsAhead: constant,
      position: { min: 0, max: 0 },
      slots: 2,
      inFlight: { tasks: 1, known: [{ durations: constant, elapsedMs: 0 }] },
    })
    expect(max).toBeLessThan(75)
  })
})

test('property: a range is in order and never negative, and does not change while nothing else does', () => {
  const durations = fc
    .array(fc.integer({ min: 1, max: 3_600_000 }), { minLength: 1, maxLength: 30 })
    .map(observed)
  const range = fc.tuple(fc.nat(10_000), fc.nat(1_000)).map(([min, more]) => ({ min, max: min + more }))
  const isInOrder = ({ min, max }: Range) =>
    Number.isInteger(min) && Number.isInteger(max) && min >= 0 && min <= max
  fc.assert(
    fc.property(
      ...([durations, durations, range] as const),
      ...([fc.integer({ min: 1, max: 1000 }), fc.nat(1_000), fc.nat(4_000_000)] as const),
      (own, ahead, position, slots, tasks, elapsedMs) => {
        const task = {
          ...{ durations: own, durationsAhead: ahead, position, slots },
          inFlight: { tasks, known: [{ durations: ahead, elapsedMs }] },
        }
        const left = timeLeftOfWaiting(task)
        expect(isInOrder(left)).toBe(true)
        expect(timeLeftOfWaiting(task)).toEqual(left)
        const [now, later] = [timeLeftOfRunning(own, elapsedMs), timeLeftOfRunning(own, elapsedMs + 60_000)]
        if (now !== undefined) expect(isInOrder(now)).toBe(true)
        if (now === undefined) expect(later).toBeUndefined()
      },
    ),
    { numRuns: 60 },
  )
})

/** One queue with tasks of three lengths, whose durations vary; each task is estimated when it arrives and once later. */
const simulate = ({ seed, slots, load }: { seed: number; slots: number; load: number }) => {
  const random = createRandom(seed)
  const normal = () => Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random())
  const lengths = [4, 8, 12]
  const draw = () => {
    const seconds = lengths[Math.floor(random() * lengths.length)] ?? 4
    return { seconds, durationMs: seconds * 8_000 * Math.exp(0.3 * normal()) }
  }
  const learned = Array.from({ length: 300 }, draw)
  const all = observed(learned.map(({ durationMs }) => durationMs))
  const bySeconds = new Map(
    lengths.map((seconds) => [
      seconds,
      observed(learned.filter((each) => each.seconds === seconds).map(({ durationMs }) => durationMs)),
    ]),
  )
  const of = (seconds: number) => bySeconds.get(seconds) ?? all
  const tasks: { seconds: number; startMs: number; endMs: number }[] = []
  const freeAtMs = Array.from({ length: slots }, () => 0)
  const estimates: { range: Range; tookMs: number }[] = []
  let nowMs = 0
  for (let arrived = 0; arrived < 500; arrived += 1) {
    nowMs += (-Math.log(random()) * 64_000) / slots / load
    const { seconds, durationMs } = draw()
    const ahead = tasks.filter(({ startMs }) => startMs > nowMs).length
    const running = tasks.filter(({ startMs, endMs }) => startMs <= nowMs && endMs > nowMs)
    const slot = freeAtMs.indexOf(Math.min(...freeAtMs))
    const startMs = Math.max(nowMs, freeAtMs[slot] ?? 0)
    const task = { seconds, startMs, endMs: startMs + durationMs }
    freeAtMs[slot] = task.endMs
    tasks.push(task)
    const range = timeLeftOfWaiting({
      ...{ durations: of(seconds), durationsAhead: all, position: { min: ahead, max: ahead }, slots },
      inFlight: {
        tasks: running.length,
        known: running.map((each) => ({ durations: of(each.seconds), elapsedMs: nowMs - each.startMs })),
      },
    })
    estimates.push({ range, tookMs: task.endMs - nowMs })
    const elapsedMs = random() * durationMs
    const later = timeLeftOfRunning(of(seconds), elapsedMs)
    if (later !== undefined) estimates.push({ range: later, tookMs: durationMs - elapsedMs })
  }
  return estimates
}

const quartile = (values: number[], share: number) =>
  values.toSorted((one, other) => one - other)[Math.floor(share * values.length)] ?? 0

test.for([
  { seed: 1, slots: 1, load: 0.9 },
  { seed: 2, slots: 4, load: 0.95 },
  { seed: 3, slots: 10, load: 1.1 },
  { seed: 4, slots: 50, load: 1.05 },
])('nine of ten simulated tasks finish within a range that is not wide: $slots slots', (queue) => {
  const estimates = simulate(queue)
  const within = estimates.filter(
    ({ range, tookMs }) => tookMs >= range.min * 1000 && tookMs <= range.max * 1000,
  ).length
  const widths = estimates.map(({ range }) => (range.max - range.min) * 1000)
  const took = estimates.map(({ tookMs }) => tookMs)
  const spread = quartile(took, 0.75) - quartile(took, 0.25)
  expect(within / estimates.length).toBeGreaterThan(0.85)
  expect(within / estimates.length).toBeLessThan(0.95)
  expect(quartile(widths, 0.5)).toBeLessThan(2 * spread)
})
