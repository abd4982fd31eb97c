import type { Tensor } from '../../inference/onnx.ts'
import { quietStretches, type Quiet } from '../samples/loudness.ts'
import { samplesPerSecond } from '../samples/mel.ts'
import type { Head, Whisper } from './whisper-model.ts'
import { languageToken, positionsPerWindow, secondsPerTime, token } from './whisper-tokens.ts'
import type { SpokenWord } from './written-words.ts'
import type { WrittenWord } from './written-words.ts'

interface OnsetHead extends Head {
  /** How many positions behind a word's start the head looks when the word is about to be written. */
  delay: number
}

/**
 * The heads that follow the starts of words most closely, by the number of the model's layers. Found by comparing every
 * head of each model with words of known times.
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

/** Attention below this is chance. */
const chance = 1e-4
/** A pause this close to where a word seems to start is the pause before it. */
const pauseBefore = 0.2
const pauseAfter = 0.12

/**
 * Finds when each word was said, in seconds from the window's start. Where a word starts is told by where in the sound
 * the decoder looks when it is about to write it; a pause there makes that exact.
 */
export async function timeWords(
  whisper: Whisper,
  heard: Tensor,
  sound: Float32Array,
  words: readonly WrittenWord[],
  language: string,
): Promise<SpokenWord[]> {
  const heads = onsetHeads[whisper.layers] ?? []
  const said = words.flatMap(({ tokens }) => tokens)
  const before = [
    token.start,
    languageToken(language) ?? token.firstLanguage,
    token.transcribe,
    token.noTimes,
  ]
  const attentions = await whisper.attend(heard, [...before, ...said], heads)
  const soundSeconds = sound.length / samplesPerSecond
  const positions = Math.min(positionsPerWindow, Math.max(1, Math.round(soundSeconds / secondsPerTime)))
  const evidence = new Float32Array(said.length * positions)
  for (const [index, attention] of attentions.entries()) {
    // What comes next shows in the row of the token before.
    const rows = attention.subarray((before.length - 1) * positionsPerWindow)
    addEvidence(evidence, rows, heads[index]!.delay, said.length, positions)
  }
  const places = bestPath(evidence, said.length, positions)

  let row = 0
  const onsets = words.map(({ tokens }) => {
    const onset = places[row]! * secondsPerTime
    row += tokens.length
    return onset
  })
  return placeWords(words, onsets, quietStretches(sound), soundSeconds)
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

/** One position for each row, never going back, such that their evidence together is the greatest. */
export function bestPath(evidence: Float32Array, rows: number, positions: number): number[] {
  // A token takes some time, unless there are more of them than there is time.
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

/** A word lasts until the next one starts, or until the pause before that. */
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
    // The last word, and one before a long pause, ends where it becomes quiet.
    const end =
      quiet.find((stretch) => stretch.start > start + 0.1 && stretch.end >= next - 1e-3)?.start ?? next
    placed.push({ word, start, end: Math.max(start, end) })
    floor = start
  }
  return placed
}
