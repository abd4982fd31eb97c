/**
 * Where a recording is cut. Each piece is as short as a provider takes well, and a cut goes into the middle of the
 * longest pause near its end, so that no word is torn. What counts as a pause is measured by the recording itself: a
 * noisy one has pauses too.
 */

/** How long one measure of loudness lasts. */
export const levelMs = 50
export const segmentMsMax = 300_000
/** No piece is shorter, but that of a short recording and a last one, which is still long enough to be heard. */
const segmentMsMin = segmentMsMax / 2
const tailMsMin = 10_000

/** Loudness below which nobody is heard, of 32768: some 60 decibels under the loudest. */
const inaudible = 33
/** A pause is at most twice as loud as the quietest moment around. */
const pauseRatio = 2

export interface PlannedCut {
  startMs: number
  endMs: number
  /** Nothing can be heard in it. */
  isSilent: boolean
}

/** A stretch of a recording whose loudness is known, one level after the other. */
export interface Measured {
  startMs: number
  levels: Float32Array
  endMs: number
  /** Whether the recording ends with it; otherwise its last part is left for the next stretch. */
  isLast: boolean
}

export const planCuts = ({ startMs, levels, endMs, isLast }: Measured): PlannedCut[] => {
  const indexOf = (ms: number) => Math.floor((ms - startMs) / levelMs)
  // Past what was measured there is nothing to hear.
  const levelAt = (index: number) => levels[index] ?? 0

  /** The middle of the longest pause; of several as long as each other, of the last. */
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
