/** Joins parts of one clause that were generated separately, so that the joint is inaudible. */
import { kokoroSamplesPerSecond } from './finish-clause.ts'

const fade = Math.round(0.02 * kokoroSamplesPerSecond)
const step = Math.round(0.005 * kokoroSamplesPerSecond)
/** With a greater difference in level, the parts contain different sounds. */
const mostGain = 3

/** The softest position in a range of sound, for example in a stop or between words. Parts are joined there. */
export function softestPlace(waveform: Float32Array, from: number, until: number): number {
  let best = { place: until, energy: Infinity }
  for (let place = from; place + fade <= Math.min(until + fade, waveform.length); place += step) {
    const energy = energyOf(waveform, place, place + fade)
    if (energy < best.energy) best = { place, energy }
  }
  return best.place
}

/**
 * Continues `before` at its sample `at` with `after`, whose sample `overlap` is the same moment. The level of the model
 * differs from part to part, so the second part starts at the level of the first and returns to its own at its end.
 */
export function continued(
  before: Float32Array,
  at: number,
  after: Float32Array,
  overlap: number,
): Float32Array {
  const back = Math.min(overlap, at)
  const ahead = Math.min(before.length - at, after.length - overlap)
  const levelBefore = energyOf(before, at - back, at + ahead)
  const levelAfter = energyOf(after, overlap - back, overlap + ahead)
  const ratio = levelAfter === 0 ? 1 : Math.sqrt(levelBefore / levelAfter)
  const gain = Math.min(mostGain, Math.max(1 / mostGain, ratio))
  const made = after.slice(overlap)
  for (let place = 0; place < made.length; place++) {
    made[place]! *= gain + (1 - gain) * (place / made.length)
    const share = place / fade
    if (share < 1 && at + place < before.length)
      made[place] = made[place]! * share + before[at + place]! * (1 - share)
  }
  return made
}

function energyOf(waveform: Float32Array, from: number, until: number): number {
  let sum = 0
  for (let place = from; place < until; place++) sum += waveform[place]! ** 2
  return sum / Math.max(1, until - from)
}
