import { expect, test } from 'vitest'

import { nextPauseSeconds, retryPausesSeconds } from './retry-schedule.ts'

const pausesSeconds = retryPausesSeconds

test('pauses are within a tenth of the schedule, which ends', () => {
  for (const random of [0, 0.5, 1]) {
    const pauses = pausesSeconds.map((_, attempt) =>
      nextPauseSeconds({ pausesSeconds, random: () => random }, attempt + 1),
    )
    expect(pauses).toEqual(pausesSeconds.map((pause) => pause * (0.9 + 0.2 * random)))
  }
  expect(nextPauseSeconds({ pausesSeconds }, pausesSeconds.length + 1)).toBeUndefined()
})

test('a receiver can ask for a longer pause of at most a day, and not for a shorter one', () => {
  const schedule = { pausesSeconds, random: () => 0.5 }
  expect(nextPauseSeconds(schedule, 1, 60)).toBe(60)
  expect(nextPauseSeconds(schedule, 2, 1)).toBe(30)
  expect(nextPauseSeconds(schedule, 1, 10_000_000)).toBe(86_400)
  expect(nextPauseSeconds(schedule, pausesSeconds.length + 1, 60)).toBeUndefined()
})
