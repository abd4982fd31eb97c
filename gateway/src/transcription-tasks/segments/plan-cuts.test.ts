import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import { levelMs, segmentMsMax, planCuts, type PlannedCut } from './plan-cuts.ts'

const perMinute = 60_000 / levelMs

interface Pause {
  atMs: number
  lengthMs: number
}

/** Levels of speech over background noise, with pauses that contain only the noise. */
const levelsOf = (lengthMs: number, pauses: Pause[], noise = 0): Float32Array => {
  const levels = Float32Array.from(
    { length: Math.ceil(lengthMs / levelMs) },
    (_, index) => 3_000 + noise + 1_000 * Math.sin(index / 3),
  )
  for (const { atMs, lengthMs: pauseMs } of pauses)
    levels.fill(noise, Math.ceil(atMs / levelMs), Math.floor((atMs + pauseMs) / levelMs))
  return levels
}

const whole = (lengthMs: number, pauses: Pause[], noise = 0) =>
  planCuts({ startMs: 0, levels: levelsOf(lengthMs, pauses, noise), endMs: lengthMs, isLast: true })

const expectWhole = (cuts: PlannedCut[], startMs: number, endMs: number) => {
  let atMs = startMs
  for (const cut of cuts) {
    expect(cut.startMs).toBe(atMs)
    expect(cut.endMs).toBeGreaterThan(cut.startMs)
    expect(cut.endMs - cut.startMs).toBeLessThanOrEqual(segmentMsMax)
    atMs = cut.endMs
  }
  expect(atMs).toBe(endMs)
}

const pause = fc.record({
  atMs: fc.integer({ min: 0, max: 4_000_000 }),
  lengthMs: fc.integer({ min: 0, max: 400_000 }),
})

test('the segments cover the recording without gaps or overlaps, and none is too long', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 4_000_000 }),
      fc.array(pause, { maxLength: 60, size: 'max' }),
      fc.integer({ min: 0, max: 5_000 }),
      (lengthMs, pauses, noise) => expectWhole(whole(lengthMs, pauses, noise), 0, lengthMs),
    ),
    { numRuns: 60 },
  )
})

test('a recording that is measured in several parts is covered completely, too', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 4_000_000 }),
      fc.integer({ min: 2 * segmentMsMax, max: 2_000_000 }),
      fc.array(pause, { maxLength: 60, size: 'max' }),
      (lengthMs, stretchMs, pauses) => {
        const levels = levelsOf(lengthMs, pauses)
        const cuts: PlannedCut[] = []
        for (let isLast = false; !isLast;) {
          const startMs = cuts.at(-1)?.endMs ?? 0
          const endMs = Math.min(lengthMs, startMs + stretchMs)
          isLast = endMs === lengthMs
          const part = levels.subarray(Math.floor(startMs / levelMs), Math.ceil(endMs / levelMs))
          cuts.push(...planCuts({ startMs, levels: part, endMs, isLast }))
        }
        expectWhole(cuts, 0, lengthMs)
      },
    ),
    { numRuns: 40 },
  )
})

describe('the place of a cut', () => {
  const minutes = (count: number) => count * 60_000

  test.each([
    ['in silence', 0],
    ['over a loud noise', 2_000],
  ])('is the middle of the longest pause of the last minutes, %s', (_, noise) => {
    const pauses = [
      { atMs: minutes(1), lengthMs: 9_000 },
      { atMs: minutes(3), lengthMs: 600 },
      { atMs: minutes(4), lengthMs: 2_000 },
    ]
    expect(whole(minutes(8), pauses, noise)[0]?.endMs).toBe(minutes(4) + 1_000)
  })

  test('leaves a minimum length for the last segment', () => {
    const lengthMs = segmentMsMax + 1_500
    const cuts = whole(lengthMs, [{ atMs: segmentMsMax - 300, lengthMs: 600 }])
    expect(cuts.length).toBe(2)
    expect(lengthMs - (cuts[1]?.startMs ?? 0)).toBeGreaterThanOrEqual(10_000)
  })

  test('does not exist in a recording of at most one segment', () => {
    expect(whole(segmentMsMax, [{ atMs: 1_000, lengthMs: 5_000 }]).length).toBe(1)
  })
})

test('a segment is silent only if all of its levels are inaudible', () => {
  const levels = new Float32Array(20 * perMinute)
  const plan = () => planCuts({ startMs: 0, levels, endMs: 20 * 60_000, isLast: true })
  expect(plan().every(({ isSilent }) => isSilent)).toBe(true)
  const spokenAtMs = 7 * 60_000
  levels[spokenAtMs / levelMs] = 60
  const spoken = plan().filter(({ isSilent }) => !isSilent)
  expect(spoken.length).toBe(1)
  expect(spoken[0]?.startMs).toBeLessThanOrEqual(spokenAtMs)
  expect(spoken[0]?.endMs).toBeGreaterThan(spokenAtMs)
})

test('time after the end of the audio counts as silence', () => {
  const levels = levelsOf(60_000, [])
  const cuts = planCuts({ startMs: 0, levels, endMs: 20 * 60_000, isLast: true })
  expectWhole(cuts, 0, 20 * 60_000)
  expect(cuts.map(({ isSilent }) => isSilent)).toEqual([false, ...cuts.slice(1).map(() => true)])
})
