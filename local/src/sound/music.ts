import { randomFrom, type Random } from '../drawing/random.ts'
import type { ScenePlan } from '../scenes/scene-plan.ts'

export const sampleRate = 48_000

type Chord = readonly [number, number, number, number]

/** Chords, in semitones above the key note. */
const progressions: Record<ScenePlan['mood'], readonly [readonly Chord[], ...(readonly Chord[])[]]> = {
  bright: [
    [
      [0, 4, 7, 11],
      [-3, 0, 4, 7],
      [5, 9, 12, 16],
      [-5, 2, 7, 11],
    ],
    [
      [0, 4, 7, 14],
      [5, 9, 12, 16],
      [-3, 4, 7, 12],
      [5, 7, 12, 14],
    ],
  ],
  wistful: [
    [
      [0, 3, 7, 10],
      [-4, 0, 3, 7],
      [5, 8, 12, 15],
      [-2, 2, 5, 9],
    ],
    [
      [0, 3, 7, 14],
      [-4, 3, 8, 12],
      [3, 7, 10, 14],
      [-2, 5, 10, 14],
    ],
  ],
}

const tableSize = 4096
const tableMask = tableSize - 1
const padWave = waveTable([1, 0.42, 0.16, 0.09, 0.04])
const bellWave = waveTable([1, 0.12, 0.2, 0.02, 0.05])

function waveTable(harmonics: number[]): Float32Array {
  return Float32Array.from({ length: tableSize }, (_, index) =>
    harmonics.reduce(
      (sum, weight, order) => sum + weight * Math.sin((2 * Math.PI * (order + 1) * index) / tableSize),
      0,
    ),
  )
}

interface Stereo {
  left: Float32Array
  right: Float32Array
}

/** A slow pad with bell notes and reverb, as interleaved 16-bit stereo. */
export function composeMusic(plan: Pick<ScenePlan, 'seed' | 'mood'>, seconds: number): Buffer {
  const random = randomFrom(plan.seed, 'music')
  const sampleCount = Math.round(seconds * sampleRate)
  const sound: Stereo = { left: new Float32Array(sampleCount), right: new Float32Array(sampleCount) }
  const keyNote = random.pick([50, 52, 53, 55, 57])
  const progression = random.pick(progressions[plan.mood])
  const chordSeconds = Math.max(2.4, seconds / Math.max(2, Math.round(seconds / 3.6)))
  for (let start = 0, index = 0; start < seconds; start += chordSeconds, index++) {
    const chord = progression[index % progression.length]!
    chord.forEach((interval, voice) => {
      const note = keyNote + interval - (voice === 0 ? 12 : 0)
      addPad(sound, random, { note, start, seconds: chordSeconds * 1.4, pan: 0.26 + 0.16 * voice })
    })
    const beats = 6
    for (let beat = 0; beat < beats; beat++) {
      if (!random.chance(0.62)) continue
      const note = keyNote + 12 + random.pick(chord)
      const pan = random.between(0.15, 0.85)
      addBell(sound, {
        note,
        start: start + (beat * chordSeconds) / beats,
        pan,
        loudness: random.between(0.5, 1),
      })
    }
  }
  addReverb(sound)
  return interleave(sound, sampleCount)
}

function stepOf(note: number): number {
  return (440 * 2 ** ((note - 69) / 12) * tableSize) / sampleRate
}

function addPad(
  sound: Stereo,
  random: Random,
  tone: { note: number; start: number; seconds: number; pan: number },
): void {
  const from = Math.floor(tone.start * sampleRate)
  const to = Math.min(sound.left.length, from + Math.floor(tone.seconds * sampleRate))
  const step = stepOf(tone.note)
  const detuned = step * (1 + random.between(0.0012, 0.0032))
  const rise = 1.1 * sampleRate
  const fall = 1.3 * sampleRate
  const end = from + tone.seconds * sampleRate
  let phase = random.next() * tableSize
  let otherPhase = random.next() * tableSize
  for (let index = from; index < to; index++) {
    const envelope = Math.min(1, (index - from) / rise, (end - index) / fall)
    const level = 0.045 * envelope * envelope * (3 - 2 * envelope)
    const one = padWave[phase & tableMask]! * level
    const other = padWave[otherPhase & tableMask]! * level
    // The two detuned voices are panned to opposite sides, which widens the sound.
    sound.left[index]! += one * (1.15 - tone.pan) + other * (0.85 - tone.pan)
    sound.right[index]! += one * (tone.pan - 0.15) + other * (tone.pan + 0.15)
    phase += step
    otherPhase += detuned
  }
}

function addBell(sound: Stereo, tone: { note: number; start: number; pan: number; loudness: number }): void {
  const from = Math.floor(tone.start * sampleRate)
  const to = Math.min(sound.left.length, from + Math.floor(1.8 * sampleRate))
  const step = stepOf(tone.note)
  const decay = Math.exp(-3 / sampleRate)
  let level = 0.07 * tone.loudness
  let phase = 0
  for (let index = from; index < to; index++) {
    const attack = Math.min(1, (index - from) / (0.012 * sampleRate))
    const value = bellWave[phase & tableMask]! * level * attack
    sound.left[index]! += value * (1 - tone.pan)
    sound.right[index]! += value * tone.pan
    phase += step
    level *= decay
  }
}

/** Two crossed, damped echoes. */
function addReverb(sound: Stereo): void {
  const leftDelay = Math.floor(0.293 * sampleRate)
  const rightDelay = Math.floor(0.401 * sampleRate)
  let dampedLeft = 0
  let dampedRight = 0
  for (let index = 0; index < sound.left.length; index++) {
    const fromRight = index >= leftDelay ? sound.right[index - leftDelay]! : 0
    const fromLeft = index >= rightDelay ? sound.left[index - rightDelay]! : 0
    dampedLeft += 0.22 * (fromRight - dampedLeft)
    dampedRight += 0.22 * (fromLeft - dampedRight)
    sound.left[index]! += dampedLeft * 0.42
    sound.right[index]! += dampedRight * 0.42
  }
}

function interleave(sound: Stereo, sampleCount: number): Buffer {
  const samples = new Int16Array(sampleCount * 2)
  const fadeIn = Math.min(0.8 * sampleRate, sampleCount / 4)
  const fadeOut = Math.min(1.6 * sampleRate, sampleCount / 3)
  for (let index = 0; index < sampleCount; index++) {
    const fade = Math.min(1, index / fadeIn, (sampleCount - index) / fadeOut) * 29_000
    samples[index * 2] = Math.tanh(sound.left[index]! * 1.5) * fade
    samples[index * 2 + 1] = Math.tanh(sound.right[index]! * 1.5) * fade
  }
  return Buffer.from(samples.buffer)
}
