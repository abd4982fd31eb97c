/**
 * Decides where to cut a recording. Segments are short enough for every provider, and a cut is in the middle of the
 * longest pause near the end of a segment, so that it does not split a word. The threshold for pauses is relative to the
 * quietest level nearby, because noisy recordings have pauses, too.
 */

/** The time that one loudness level covers. */
export const levelMs = 50
export const segmentMsMax = 300_000
/** The minimum for all segments but the last, which has at least `tailMsMin` unless the recording is shorter. */
const segmentMsMin = segmentMsMax / 2
const tailMsMin = 10_000

/** The level of silence, on a scale to 32768: about -60 dB. */
const inaudible = 33
/** A pause is at most twice as loud as the quietest level in the range. */
const pauseRatio = 2

export interface PlannedCut {
  startMs: number
  endMs: number
  isSilent: boolean
}

/** The loudness levels of a part of a recording. */
export interface Measured {
  startMs: number
  levels: Float32Array
  endMs: number
  /** Whether the recording ends with this part. Otherwise the rest after the last cut belongs to the next part. */
  isLast: boolean
}

export const planCuts = ({ startMs, levels, endMs, isLast }: Measured): PlannedCut[] => {
  const indexOf = (ms: number) => Math.floor((ms - startMs) / levelMs)
  // Time after the measured levels is silent.
  const levelAt = (index: number) => levels[index] ?? 0

  /** The middle of the longest pause; of several equally long ones, the last. */
  const pauseWithin = (fromMs: number, toMs: number): number => {
    const first = indexOf(fromMs)
    const last = Math.max(first, indexOf(toMs) - 1)
    let quietest = Infinity
    for (let index = first; index <= last; index += 1) quietest = Math.min(quietest, levelAt(index))
    const bound = Math.max(inaudible, quietest * pauseRatio)
    let best = { from: last, length: 0 }
    let from = first
    for (let index = first; index <= last + 1; index += 1) {
      if (index <= last && levelAt(index) <= bound) continue
      if (index - from >= best.length) best = { from, length: index - from }
      from = index + 1
    }
    const middleMs = startMs + (best.from + best.length / 2) * levelMs
    return Math.round(Math.min(toMs, Math.max(fromMs, middleMs)))
  }

  const isSilent = (fromMs: number, toMs: number): boolean => {
    for (let index = indexOf(fromMs); index < Math.ceil((toMs - startMs) / levelMs); index += 1) {
      if (levelAt(index) > inaudible) return false
    }
    return true
  }

  const cuts: PlannedCut[] = []
  const add = (fromMs: number, toMs: number) => {
    cuts.push({ startMs: fromMs, endMs: toMs, isSilent: isSilent(fromMs, toMs) })
    return toMs
  }
  let atMs = startMs
  while (endMs - atMs > segmentMsMax) {
    const latestMs = Math.min(atMs + segmentMsMax, endMs - tailMsMin)
    atMs = add(atMs, pauseWithin(atMs + segmentMsMin, latestMs))
  }
  if (isLast && endMs > atMs) add(atMs, endMs)
  return cuts
}
