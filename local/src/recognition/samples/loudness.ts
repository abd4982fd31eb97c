import { samplesPerSecond } from './mel.ts'

export interface Quiet {
  start: number
  end: number
}

const frame = samplesPerSecond / 100
/** Shorter breaks are part of a sound, such as the stop before a "t". */
const leastQuietSeconds = 0.04

/** The stretches of a sound that are quiet by its own measure, in seconds. */
export function quietStretches(sound: Float32Array): Quiet[] {
  const levels = levelsOf(sound)
  const sorted = levels.toSorted()
  const loud = sorted[Math.floor(sorted.length * 0.95)] ?? 0
  const faint = sorted[Math.floor(sorted.length * 0.05)] ?? 0
  // Well below speech and above the noise, but never so high that speech itself falls below it.
  const limit = Math.min(loud - 20, Math.max(loud - 30, faint + 6))
  const stretches: Quiet[] = []
  let start: number | undefined
  for (let index = 0; index <= levels.length; index++) {
    if (index < levels.length && levels[index]! < limit) {
      start ??= index
      continue
    }
    if (start !== undefined && (index - start) / 100 >= leastQuietSeconds) {
      stretches.push({ start: start / 100, end: index / 100 })
    }
    start = undefined
  }
  return stretches
}

/** Decibels of each hundredth of a second. */
function levelsOf(sound: Float32Array): Float32Array {
  return Float32Array.from({ length: Math.ceil(sound.length / frame) }, (_, index) => {
    const part = sound.subarray(index * frame, (index + 1) * frame)
    let sum = 0
    for (const value of part) sum += value * value
    return 10 * Math.log10(sum / part.length + 1e-10)
  })
}
