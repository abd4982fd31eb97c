import { expect, test } from 'vitest'

import { newRamp, noRate, rateAt, startsLeft, withCalls, withStarts } from './ramp.ts'

test('the rate is an average in which older calls count less', () => {
  let rate = noRate
  for (let second = 0; second < 1_800; second += 1) {
    for (let call = 0; call < 10; call += 1) rate = withCalls(rate, 1, second * 1_000)
  }
  expect(rateAt(rate, 1_800_000)).toBeCloseTo(10, 0)
  expect(rateAt(rate, 1_800_000 + 300_000)).toBeLessThan(4)
})

test('a rate is known soon after the first call, and a burst does not inflate it', () => {
  let rate = noRate
  for (let second = 0; second < 30; second += 1) {
    for (let call = 0; call < 10; call += 1) rate = withCalls(rate, 1, second * 1_000)
  }
  expect(rateAt(rate, 30_000)).toBeCloseTo(10, 0)
  expect(rateAt(withCalls(withCalls(noRate, 1, 0), 1, 10), 20)).toBeLessThan(0.3)
  expect(rateAt(noRate, 1_000_000)).toBe(0)
})

/** Uses all available starts ten times a second; returns the starts of each second. */
const startedEachSecond = (seconds: number, usualPerSecond: number): number[] => {
  let ramp = newRamp(usualPerSecond, 0, 0) as ReturnType<typeof withStarts>
  const started = Array.from({ length: seconds }, () => 0)
  for (let nowMs = 0; nowMs < seconds * 1_000; nowMs += 100) {
    const allowed = startsLeft(ramp, nowMs)
    ramp = withStarts(ramp, allowed, nowMs)
    started[Math.floor(nowMs / 1_000)] = (started[Math.floor(nowMs / 1_000)] ?? 0) + allowed
  }
  return started
}
const startedWithin = (seconds: number, usualPerSecond: number): number =>
  startedEachSecond(seconds, usualPerSecond).reduce((sum, each) => sum + each, 0)

test('a recovered provider gets twice its usual rate, and at least five starts a second', () => {
  expect(startedWithin(30, 20)).toBeLessThanOrEqual(31 * 40)
  expect(startedWithin(30, 20)).toBeGreaterThan(28 * 40)
  expect(startedWithin(30, 0)).toBeLessThanOrEqual(31 * 5)
  expect(startedWithin(30, 0)).toBeGreaterThan(28 * 5)
})

test('after the first minute the limit doubles smoothly every minute, and ends after ten', () => {
  const each = startedEachSecond(300, 20)
  expect(each[59]).toBeLessThanOrEqual(41)
  expect(each[119]).toBeGreaterThan(75)
  expect(each[179]).toBeGreaterThan(150)
  for (let second = 2; second < each.length; second += 1) {
    expect(each[second]).toBeLessThanOrEqual(1.1 * (each[second - 1] ?? 0) + 2)
  }
  expect(startsLeft(newRamp(1, 0, 0), 599_000)).toBeGreaterThan(1_000)
  expect(startsLeft(newRamp(1, 0, 0), 600_000)).toBe(Infinity)
  expect(startsLeft(undefined, 0)).toBe(Infinity)
})
