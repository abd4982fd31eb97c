import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { modelDirectory, onlySets } from '../../test/kit/model-directory.ts'
import { neuralVoice } from '../../test/kit/neural-voice.ts'
import { serveRecognition, type RecognitionClient } from '../../test/kit/recordings.ts'
import { findPrograms } from '../ffmpeg/programs.ts'
import { createRecognition } from './recognition.ts'

const directory = modelDirectory(
  ...(['onnxruntime', 'silero-vad', 'whisper-tiny', 'whisper-base', 'moonshine-tiny'] as const),
  ...(['kokoro', 'kokoro-voices'] as const),
)
const spoken = {
  // Kokoro has no German voice, but this one is recognized as German.
  de: {
    style: 'if_sara',
    text: 'Der Arzt sagt, dass meine Schwester jede Nacht acht Stunden schlafen soll.',
  },
  fr: { style: 'ff_siwis', text: 'Nous allons manger du poisson dans le petit restaurant du port.' },
}

let root: string
let client: RecognitionClient
const recordings = new Map<string, Buffer>()

beforeAll(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'kinora-languages-'))
  const programs = await findPrograms()
  client = await serveRecognition(
    createRecognition({ directory, programs, ffmpegPath: 'ffmpeg', log: () => {} }),
  )
  const voice = neuralVoice(directory)
  for (const [language, { style, text }] of Object.entries(spoken)) {
    const file = path.join(root, `${language}.wav`)
    await voice.say(file, style, language, [text])
    recordings.set(language, await readFile(file))
  }
  await voice.close()
})
afterAll(async () => {
  await client.close()
  await rm(root, { recursive: true, force: true })
})

async function transcribe(language: string, ...fields: [string, string][]) {
  const response = await client.post('transcribe', recordings.get(language)!, fields)
  const body = (await response.json()) as { text: string; language?: string }
  return { ...body, engine: response.headers.get('x-engine') }
}

test.each([
  ['de', /sagt, dass meine Schwester/iu],
  ['fr', /manger du poisson.*restaurant/iu],
])('every model detects the language %s in every response format', async (language, words) => {
  const quick = await transcribe(language, ['model', 'asr-large-v3-turbo'])
  const plain = await transcribe(language, ['model', 'asr-1'])
  const verbose = await transcribe(language, ['model', 'asr-1'], ['response_format', 'verbose_json'])
  for (const { text, engine } of [quick, plain, verbose]) {
    expect(text).toMatch(words)
    expect(engine).toBe('whisper-base')
  }
  expect(verbose.language).toBe(language)
  expect(verbose.text).toBe(plain.text)
})

test('the same request returns the same text, even if tokens are sampled', async () => {
  const programs = await findPrograms()
  const small = createRecognition({
    directory: onlySets(directory, 'onnxruntime', 'silero-vad', 'whisper-tiny'),
    programs,
    ffmpegPath: 'ffmpeg',
    log: () => {},
  })
  const smallClient = await serveRecognition(small)
  const texts = new Set<string>()
  for (let round = 0; round < 3; round++) {
    const response = await smallClient.post('transcribe', recordings.get('de')!, [
      ['model', 'asr-1'],
      ['temperature', '1'],
    ])
    texts.add(((await response.json()) as { text: string }).text)
  }
  await smallClient.close()
  expect([...texts]).toHaveLength(1)
})
