import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { modelDirectory, onlySets } from '../../test/kit/model-directory.ts'
import { neuralVoice } from '../../test/kit/neural-voice.ts'
import { serveRecognition, type RecognitionClient } from '../../test/kit/recordings.ts'
import { findPrograms } from '../ffmpeg/programs.ts'
import { createRecognition } from './recognition.ts'
import { isDoubtfulTranslation } from './whisper/whisper-decode.ts'

const directory = modelDirectory('onnxruntime', 'silero-vad', 'whisper-base', 'kokoro', 'kokoro-voices')
const sentences = {
  // whisper-base makes "the other side" of "a las ocho" ("at eight"), and is not sure of it.
  doubtful: 'El tren sale a las ocho.',
  clear: 'Mañana vamos a la playa con toda la familia.',
}

let root: string
let client: RecognitionClient
const recordings = new Map<string, Buffer>()

beforeAll(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'kinora-translations-'))
  client = await serveRecognition(
    createRecognition({
      directory: onlySets(directory, 'onnxruntime', 'silero-vad', 'whisper-base'),
      programs: await findPrograms(),
      ffmpegPath: 'ffmpeg',
      log: () => {},
    }),
  )
  const voice = neuralVoice(directory)
  for (const [name, text] of Object.entries(sentences)) {
    const file = path.join(root, `${name}.wav`)
    await voice.say(file, 'ef_dora', 'es', [text])
    recordings.set(name, await readFile(file))
  }
  await voice.close()
})
afterAll(async () => {
  await client.close()
  await rm(root, { recursive: true, force: true })
})

interface Verbose {
  text: string
  language: string
  segments: { avg_logprob: number; no_speech_prob: number }[]
}

async function translate(name: keyof typeof sentences): Promise<{ body: Verbose; header: string | null }> {
  const response = await client.post('translate', recordings.get(name)!, [
    ['model', 'asr-1'],
    ['response_format', 'verbose_json'],
  ])
  return { body: (await response.json()) as Verbose, header: response.headers.get('x-translation') }
}

test('a doubtful translation is replaced by the transcription, and the response says so', async () => {
  const { body, header } = await translate('doubtful')
  expect(header).toBe('none')
  expect(body.language).toBe('es')
  expect(body.text).toMatch(/el tren/iu)
  expect(body.text).not.toMatch(/train|side/iu)
  expect(body.segments[0]?.avg_logprob).toBeLessThan(0)
  expect(body.segments[0]?.no_speech_prob).toBeGreaterThan(0)
})

test('a clear sentence is translated', async () => {
  const { body, header } = await translate('clear')
  expect(header).toBeNull()
  expect(body.text).toMatch(/tomorrow.*beach.*family/iu)
})

const sure = {
  ...{ tokens: [], hasEnded: true, temperature: 0 },
  ...{ averageLogProbability: -0.5, compressionRatio: 1, noSpeechProbability: 0.1 },
}

test.each([
  [{}, false],
  [{ averageLogProbability: -0.8 }, true],
  [{ noSpeechProbability: 0.7 }, true],
  [{ compressionRatio: 3 }, true],
  [{ temperature: 0.8 }, true],
])('%j is doubtful: %s', (change, doubtful) => {
  expect(isDoubtfulTranslation({ ...sure, ...change }, 0)).toBe(doubtful)
})
