import type { Region, SpeechGate } from './speech-gate.ts'

/** An interval that is decoded at once, in seconds. */
export interface SoundWindow {
  start: number
  end: number
  /** The intervals of speech in it. */
  speech: Region[]
  /** Whether it ends within speech, because it has no pause. */
  isCut: boolean
}

/** Silence that is included around speech, because its edges are quiet. */
const marginSeconds = 0.3
/** A window ends in a pause if there is one after this share of its length. */
const earliestPause = 0.4

/**
 * The next window from `position` on. It ends in a pause if possible, so that no word is cut. If there is no speech, the
 * window is the silence ahead.
 */
export async function nextWindow(
  gate: SpeechGate,
  position: number,
  recordingSeconds: number,
  mostSeconds: number,
  signal: AbortSignal,
): Promise<SoundWindow> {
  const ahead = Math.min(position + mostSeconds, recordingSeconds)
  await gate.listen(ahead + marginSeconds, signal)
  const first = gate.regions.find((region) => region.end > position && region.start < ahead)
  if (first === undefined) return { start: position, end: ahead, speech: [], isCut: false }

  const start = Math.max(position, first.start - marginSeconds)
  const latest = start + mostSeconds
  await gate.listen(latest + marginSeconds, signal)
  const end = Math.min(recordingSeconds, endOf(gate.regions, start, latest, mostSeconds))
  const speech = gate.regions
    .filter((region) => region.end > start && region.start < end)
    .map((region) => ({ start: Math.max(region.start, start), end: Math.min(region.end, end) }))
  return { start, end, speech, isCut: end === latest && end < recordingSeconds }
}

function endOf(regions: readonly Region[], start: number, latest: number, mostSeconds: number): number {
  const whole = regions.filter(({ end }) => end > start && end <= latest)
  const cut = regions.find((region) => region.start < latest && region.end > latest)
  const last = whole.at(-1)
  if (cut === undefined) return Math.min((last?.end ?? start) + marginSeconds, latest)
  if (last === undefined || last.end < start + mostSeconds * earliestPause) return latest
  return Math.min(last.end + marginSeconds, (last.end + cut.start) / 2)
}
