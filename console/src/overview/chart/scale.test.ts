import { expect, test } from 'vitest'

import { findRuns, findTicks } from './scale.ts'

test('the axis has at most five lines, and the greatest value is not above the last', () => {
  expect(findTicks(0)).toEqual([0, 100])
  expect(findTicks(98_000)).toEqual([0, 30_000, 60_000, 90_000, 120_000])
  expect(findTicks(170_000)).toEqual([0, 60_000, 120_000, 180_000])
  for (let greatest = 1; greatest < 1e9; greatest *= 1.7) {
    const ticks = findTicks(greatest)
    expect(ticks.length).toBeLessThanOrEqual(5)
    expect(ticks.at(-1)).toBeGreaterThanOrEqual(greatest)
  }
})

test('steps without a value separate the runs', () => {
  const step = (value: number | null) => ({ p50_ms: value, p95_ms: value === null ? null : value * 2 })
  const runs = findRuns([step(null), step(10), step(20), step(null), step(30)])
  expect(runs.map((run) => run.map(({ index, high }) => [index, high]))).toEqual([
    [
      [1, 20],
      [2, 40],
    ],
    [[4, 60]],
  ])
})
