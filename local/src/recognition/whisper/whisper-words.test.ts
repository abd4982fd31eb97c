import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { modelDirectory } from '../../../test/kit/model-directory.ts'
import { ffmpeg, say, toSamples } from '../../../test/kit/recordings.ts'
import { loadOnnx } from '../../inference/onnx.ts'
import { recogniseWithWhisper } from '../recognise-whisper.ts'
import { openSamples } from '../samples/samples-file.ts'
import { openDetector } from '../samples/speech-gate.ts'
import { openWhisper } from './whisper-model.ts'
import { bestPath, placeWords } from './whisper-words.ts'
import type { SpokenWord } from './written-words.ts'

const directory = modelDirectory('onnxruntime', 'silero-vad', 'whisper-base')
let root: string

beforeAll(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'kinora-words-'))
})
afterAll(async () => {
  await rm(root, { recursive: true, force: true })
})

test('the best path never decreases', () => {
  const evidence = Float32Array.from([...[0, 5, 0, 9, 0], ...[8, 0, 6, 0, 0], ...[0, 0, 0, 0, 1]])
  expect(bestPath(evidence, 3, 5)).toEqual([1, 2, 4])
  // More tokens than time.
  expect(bestPath(new Float32Array(6), 3, 2)).toHaveLength(3)
})

test('a word ends at the pause before the next word', () => {
  const words = ['one', 'two', 'three'].map((word) => ({ word, tokens: [1] }))
  const quiet = [
    { start: 0, end: 0.5 },
    { start: 1, end: 1.4 },
    { start: 2.5, end: 4 },
  ]
  expect(placeWords(words, [0.44, 1.46, 2], quiet, 4)).toEqual([
    { word: 'one', start: 0.5, end: 1 },
    { word: 'two', start: 1.4, end: 2 },
    { word: 'three', start: 2, end: 2.5 },
  ])
})

const text =
  'yesterday the old captain sailed across the river with seven brave children ' +
  'please remember to water the garden before breakfast on monday morning'

interface Word {
  word: string
  sound: Float32Array
}

async function separateWords(): Promise<Word[]> {
  const words = text.split(' ')
  const names = words.map((word, place) => `${place}-${word}`)
  await Promise.all(words.map((word, place) => say(path.join(root, `${names[place]}.wav`), word)))
  await ffmpeg(
    root,
    ...names.flatMap((name) => ['-i', `${name}.wav`]),
    ...names.flatMap((name, place) => ['-map', String(place), '-ar', '16000', '-f', 'f32le', name]),
  )
  return await Promise.all(
    words.map(async (word, place) => {
      const bytes = await readFile(path.join(root, names[place]!))
      return { word, sound: trimmed(new Float32Array(new Uint8Array(bytes).buffer)) }
    }),
  )
}

function trimmed(sound: Float32Array): Float32Array {
  const limit = 0.02 * sound.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
  const isLoud = (value: number) => Math.abs(value) >= limit
  return sound.slice(sound.findIndex(isLoud), sound.findLastIndex(isLoud) + 1)
}

/** Joins words with pauses of known lengths and adds a little noise. */
function recordingOf(
  words: readonly Word[],
  pauses: readonly number[],
): { sound: Float32Array; known: SpokenWord[] } {
  const known: SpokenWord[] = []
  const parts: Float32Array[] = [new Float32Array(4800)]
  let at = 4800
  for (const [place, { word, sound }] of words.entries()) {
    known.push({ word, start: at / 16_000, end: (at + sound.length) / 16_000 })
    const pause = new Float32Array(Math.round(pauses[place % pauses.length]! * 16_000))
    parts.push(sound, pause)
    at += sound.length + pause.length
  }
  parts.push(new Float32Array(4800))
  const sound = Float32Array.from(parts.flatMap((part) => [...part]))
  return { sound: sound.map((value, index) => value + 0.002 * Math.sin(index * index)), known }
}

test('word timestamps match the spoken words', async () => {
  const onnx = loadOnnx(directory.find('onnxruntime')!)
  const detector = await openDetector(onnx, directory.find('silero-vad')!)
  const whisper = await openWhisper(onnx, directory.find('whisper-base')!)
  const words = await separateWords()
  const order = {
    task: 'transcribe',
    language: 'en',
    prompt: undefined,
    temperature: 0,
    wantsWords: true,
  } as const
  const { signal } = new AbortController()

  async function errorsWith(pauses: readonly number[]): Promise<number[]> {
    const { sound, known } = recordingOf(words, pauses)
    await writeFile(path.join(root, 'words.s16'), toSamples(sound))
    const samples = await openSamples(path.join(root, 'words.s16'))
    const found: SpokenWord[] = []
    const gate = detector.follow(samples)
    for await (const result of recogniseWithWhisper(whisper, samples, gate, order, signal))
      found.push(...result.words)
    await samples.close()
    return errorsOf(found, known)
  }

  const apart = summary('with pauses', await errorsWith([0.12, 0.25, 0.08, 0.3]))
  expect(apart.mean).toBeLessThan(0.03)
  expect(apart.most).toBeLessThan(0.15)
  const together = summary('without pauses', await errorsWith([0, 0.01]))
  expect(together.mean).toBeLessThan(0.08)
  expect(together.most).toBeLessThan(0.3)
  await whisper.release()
  await detector.release()
})

function summary(kind: string, errors: readonly number[]): { mean: number; most: number } {
  // The errors are only meaningful if most words were recognized.
  expect(errors.length).toBeGreaterThan(34)
  const mean = errors.reduce((sum, error) => sum + error, 0) / errors.length
  const most = errors.toSorted((one, other) => one - other)[Math.floor(errors.length * 0.95)]!
  const [meanMs, mostMs] = [mean, most].map((seconds) => Math.round(seconds * 1000))
  process.stdout.write(`words ${kind}: ${meanMs} ms off on average, 95 % at most ${mostMs} ms\n`)
  return { mean, most }
}

/** The errors of the start and end times of the recognized words, in seconds. */
function errorsOf(found: readonly SpokenWord[], known: readonly SpokenWord[]): number[] {
  let place = 0
  return known.flatMap(({ word, start, end }) => {
    const index = found.findIndex(
      (each, at) =>
        at >= place &&
        at < place + 4 &&
        each.word.toLowerCase().replaceAll(/\W/gu, '') === word.toLowerCase(),
    )
    if (index === -1) return []
    place = index + 1
    return [Math.abs(found[index]!.start - start), Math.abs(found[index]!.end - end)]
  })
}
