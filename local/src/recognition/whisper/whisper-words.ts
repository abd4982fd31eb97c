import type { Tensor } from '../../inference/onnx.ts'
import { quietIntervals, type Quiet } from '../samples/loudness.ts'
import { samplesPerSecond } from '../samples/mel.ts'
import type { Head, Whisper } from './whisper-model.ts'
import { languageToken, positionsPerWindow, secondsPerTime, token } from './whisper-tokens.ts'
import type { SpokenWord } from './written-words.ts'
import type { WrittenWord } from './written-words.ts'

interface OnsetHead extends Head {
  /** How many positions after the start of a word the head attends to, before the word is generated. */
  delay: number
}

/**
 * The heads that follow the starts of words best, by the number of layers of the model. Measured by comparing every head
 * of each model with words of known times.
 */
const onsetHeads: Record<number, OnsetHead[]> = {
  4: [
    { layer: 3, head: 1, delay: 2 },
    { layer: 2, head: 5, delay: 3 },
    { layer: 3, head: 3, delay: 9 },
  ],
  6: [
    { layer: 5, head: 1, delay: 3 },
    { layer: 3, head: 1, delay: 2 },
    { layer: 4, head: 2, delay: -2 },
  ],
  12: [
    { layer: 8, head: 8, delay: 2 },
    { layer: 8, head: 4, delay: 7 },
    { layer: 8, head: 0, delay: 8 },
  ],
}

/** Lower attention is noise. */
const chance = 1e-4
/** A pause this close to the estimated start of a word is the pause before it. */
const pauseBefore = 0.2
const pauseAfter = 0.12

/**
 * Finds the times of the words, in seconds from the start of the window. The attention of the decoder before it
 * generates a word shows where the word starts. A pause near that position makes it exact.
 */
export async function timeWords(
  whisper: Whisper,
  encoded: Tensor,
  sound: Float32Array,
  words: readonly WrittenWord[],
  language: string,
): Promise<SpokenWord[]> {
  const heads = onsetHeads[whisper.layers] ?? []
  const generated = words.flatMap(({ tokens }) => tokens)
  const before = [
    token.start,
    languageToken(language) ?? token.firstLanguage,
    token.transcribe,
    token.noTimes,
  ]
  const attentions = await whisper.attend(encoded, [...before, ...generated], heads)
  const soundSeconds = sound.length / samplesPerSecond
  const positions = Math.min(positionsPerWindow, Math.max(1, Math.round(soundSeconds / secondsPerTime)))
  const evidence = new Float32Array(generated.length * positions)
  for (const [index, attention] of attentions.entries()) {
    // The row of a token shows the attention for the next token.
    const rows = attention.subarray((before.length - 1) * positionsPerWindow)
    addEvidence(evidence, rows, heads[index]!.delay, generated.length, positions)
  }
  const places = bestPath(evidence, generated.length, positions)

  let row = 0
  const onsets = words.map(({ tokens }) => {
    const onset = places[row]! * secondsPerTime
    row += tokens.length
    return onset
  })
  return placeWords(words, onsets, quietIntervals(sound), soundSeconds)
}

function addEvidence(
  evidence: Float32Array,
  rows: Float32Array,
  delay: number,
  rowCount: number,
  positions: number,
): void {
  for (let row = 0; row < rowCount; row++) {
    const looks = rows.subarray(row * positionsPerWindow, row * positionsPerWindow + positions)
    let sum = 0
    for (const look of looks) sum += look
    for (let position = 0; position < positions; position++) {
      const index = row * positions + position
      evidence[index] = evidence[index]! + Math.log((looks[position + delay] ?? 0) / (sum || 1) + chance)
    }
  }
}

/** One position for each row, never decreasing, with the greatest total evidence. */
export function bestPath(evidence: Float32Array, rows: number, positions: number): number[] {
  // Each token advances by one position, unless there are more tokens than positions.
  const step = rows <= positions ? 1 : 0
  const best = new Float64Array(rows * positions).fill(-Infinity)
  const from = new Int32Array(rows * positions)
  for (let position = 0; position < positions; position++) best[position] = evidence[position]!
  for (let row = 1; row < rows; row++) {
    let reach = -1
    for (let position = step; position < positions; position++) {
      const candidate = position - step
      const before = (row - 1) * positions
      if (reach === -1 || best[before + candidate]! > best[before + reach]!) reach = candidate
      best[row * positions + position] = best[before + reach]! + evidence[row * positions + position]!
      from[row * positions + position] = reach
    }
  }
  const path = Array.from<number>({ length: rows }).fill(0)
  let place = 0
  const last = (rows - 1) * positions
  for (let position = 1; position < positions; position++) {
    if (best[last + position]! > best[last + place]!) place = position
  }
  for (let row = rows - 1; row >= 0; row--) {
    path[row] = place
    place = from[row * positions + place]!
  }
  return path
}

/** A word ends at the start of the next one, or at the pause before it. */
export function placeWords(
  words: readonly WrittenWord[],
  onsets: readonly number[],
  quiet: readonly Quiet[],
  soundSeconds: number,
): SpokenWord[] {
  const placed: SpokenWord[] = []
  let floor = 0
  for (const [index, { word }] of words.entries()) {
    const onset = Math.max(onsets[index]!, floor)
    const pause = quiet
      .filter(({ end }) => end >= onset - pauseBefore && end <= onset + pauseAfter && end > floor)
      .toSorted((one, other) => Math.abs(one.end - onset) - Math.abs(other.end - onset))[0]
    const start = pause?.end ?? onset
    const before = placed.at(-1)
    if (before !== undefined) before.end = Math.max(before.start, Math.min(pause?.start ?? start, start))
    const next = onsets[index + 1] ?? soundSeconds
    // The last word, and a word before a long pause, ends where the sound becomes quiet.
    const end =
      quiet.find((interval) => interval.start > start + 0.1 && interval.end >= next - 1e-3)?.start ?? next
    placed.push({ word, start, end: Math.max(start, end) })
    floor = start
  }
  return placed
}
