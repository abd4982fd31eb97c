import { samplesPerSecond } from './mel.ts'

export interface Quiet {
  start: number
  end: number
}

const frame = samplesPerSecond / 100
/** Shorter gaps are part of a sound, such as the stop before a "t". */
const leastQuietSeconds = 0.04

/** The intervals that are quiet relative to the rest of the sound, in seconds. */
export function quietIntervals(sound: Float32Array): Quiet[] {
  const levels = levelsOf(sound)
  const sorted = levels.toSorted()
  const loud = sorted[Math.floor(sorted.length * 0.95)] ?? 0
  const faint = sorted[Math.floor(sorted.length * 0.05)] ?? 0
  // Between noise and speech, and low enough that quiet speech stays above it.
  const limit = Math.min(loud - 20, Math.max(loud - 30, faint + 6))
  const intervals: Quiet[] = []
  let start: number | undefined
  for (let index = 0; index <= levels.length; index++) {
    if (index < levels.length && levels[index]! < limit) {
      start ??= index
      continue
    }
    if (start !== undefined && (index - start) / 100 >= leastQuietSeconds) {
      intervals.push({ start: start / 100, end: index / 100 })
    }
    start = undefined
  }
  return intervals
}

/** The level of each 10 ms in decibels. */
function levelsOf(sound: Float32Array): Float32Array {
  return Float32Array.from({ length: Math.ceil(sound.length / frame) }, (_, index) => {
    const part = sound.subarray(index * frame, (index + 1) * frame)
    let sum = 0
    for (const value of part) sum += value * value
    return 10 * Math.log10(sum / part.length + 1e-10)
  })
}
