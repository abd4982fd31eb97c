import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

import { afterAll, beforeAll, expect, test, vi } from 'vitest'

import { modelDirectory, onlySets } from '../../test/kit/model-directory.ts'
import { neuralVoice } from '../../test/kit/neural-voice.ts'
import { ffmpeg, say, serveRecognition, type RecognitionClient } from '../../test/kit/recordings.ts'
import { findPrograms, type Programs } from '../ffmpeg/programs.ts'
import { InferenceBusy } from '../inference/inference.ts'
import type { RecognitionOrder } from './recognition-plan.ts'
import type { Segment } from './recognition-result.ts'
import { createRecognition, type Recogniser } from './recognition.ts'
import type { SpokenWord } from './whisper/written-words.ts'

const sentences = [
  'Please remember to water the garden before breakfast.',
  'The museum opens early and everybody loves the old paintings.',
]
const directory = modelDirectory(
  ...(['onnxruntime', 'silero-vad', 'whisper-tiny', 'whisper-base', 'moonshine-tiny'] as const),
  ...(['kokoro', 'kokoro-voices'] as const),
)

interface Verbose {
  task: string
  language: string
  duration: number
  text: string
  segments: Segment[]
  words: SpokenWord[]
  error?: { code: string; message: string }
}

interface Model {
  pid: number
  hasEnded: boolean
}

let root: string
let recogniser: Recogniser
let client: RecognitionClient
let programs: Programs
let english: Buffer
let spanish: Buffer
const models: Model[] = []

function follow(event: string, fields: Record<string, unknown>): void {
  if (event === 'local.model_started') models.push({ pid: fields['pid'] as number, hasEnded: false })
  if (event === 'local.model_ended') models.at(-1)!.hasEnded = true
}

beforeAll(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'kinora-recognition-test-'))
  // A private temporary directory, so that all leftovers are from this test.
  vi.stubEnv('TMPDIR', root)
  programs = await findPrograms()
  recogniser = createRecognition({ directory, programs, ffmpegPath: 'ffmpeg', log: follow })
  client = await serveRecognition(recogniser)
  await say(path.join(root, 'long.wav'), places.join(' '), 'en-us+m3', 130)
  const voice = neuralVoice(directory)
  await voice.say(path.join(root, 'english.wav'), 'af_bella', 'en-us', sentences)
  await voice.say(path.join(root, 'spanish.wav'), 'ef_dora', 'es', [
    'Mañana vamos a viajar a la playa con toda la familia.',
  ])
  await voice.close()
  english = await readFile(path.join(root, 'english.wav'))
  spanish = await readFile(path.join(root, 'spanish.wav'))
}, 120_000)

afterAll(async () => {
  await client.close()
  const left = await readdir(root)
  expect(left.filter((name) => name.startsWith('kinora-'))).toEqual([])
  vi.unstubAllEnvs()
  await rm(root, { recursive: true, force: true })
})

async function verbose(
  recording: Buffer,
  fields: [string, string][],
  task: 'transcribe' | 'translate' = 'transcribe',
) {
  const response = await client.post(task, recording, [['response_format', 'verbose_json'], ...fields])
  return { status: response.status, headers: response.headers, body: (await response.json()) as Verbose }
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}']+/gu) ?? []
}

/** The share of words that are substituted, inserted or missing. */
function wordErrorRate(heard: string, said: string): number {
  const [one, other] = [wordsOf(heard), wordsOf(said)]
  let row = other.map((_, index) => index + 1)
  for (const [index, word] of one.entries()) {
    let [left, corner] = [index + 1, index]
    row = row.map((above, place) => {
      const cost = Math.min(left + 1, above + 1, corner + (word === other[place] ? 0 : 1))
      corner = above
      left = cost
      return cost
    })
  }
  return row.at(-1)! / other.length
}

test('a transcription has probabilities and word timestamps', async () => {
  const { status, headers, body } = await verbose(english, [
    ['model', 'asr-1'],
    ['timestamp_granularities[]', 'word'],
    ['timestamp_granularities[]', 'segment'],
  ])
  expect(status).toBe(200)
  expect(headers.get('x-engine')).toBe('whisper-base')
  expect(headers.get('x-engine-wanted')).toBe('whisper-small')
  expect(wordErrorRate(body.text, sentences.join(' '))).toBeLessThanOrEqual(0.05)
  expect(body).toMatchObject({ task: 'transcribe', language: 'en' })
  expect(body.duration).toBeGreaterThan(5)
  expect(body.segments.map(({ id }) => id)).toEqual([0, 1])
  expect(
    body.segments
      .map(({ text }) => text)
      .join('')
      .trim(),
  ).toBe(body.text)
  for (const segment of body.segments) {
    expect(segment.tokens.length).toBeGreaterThan(5)
    expect(segment.temperature).toBe(0)
    expect(segment.avg_logprob).toBeLessThan(0)
    expect(segment.avg_logprob).toBeGreaterThan(-1)
    expect(segment.compression_ratio).toBeGreaterThan(0.5)
    expect(segment.no_speech_prob).toBeGreaterThan(0)
    expect(segment.no_speech_prob).toBeLessThan(0.5)
  }
  expect(body.words.map(({ word }) => word).join(' ')).toBe(body.text)
  let last = 0
  for (const { start, end } of body.words) {
    expect(start).toBeGreaterThanOrEqual(last)
    expect(end).toBeGreaterThan(start)
    expect(body.segments.some((segment) => segment.start <= start && segment.end >= end)).toBe(true)
    last = end
  }
  expect(last).toBeLessThanOrEqual(body.duration)
})

test('the detected language decides: the fast model serves English only', async () => {
  const hear = async (recording: Buffer) => {
    const response = await client.post('transcribe', recording, [['model', 'asr-large-v3-turbo']])
    return { engine: response.headers.get('x-engine'), ...((await response.json()) as { text: string }) }
  }
  const first = await hear(english)
  expect(first.engine).toBe('moonshine-tiny')
  expect(wordErrorRate(first.text, sentences.join(' '))).toBeLessThanOrEqual(0.05)
  const second = await hear(spanish)
  expect(second.engine).toBe('whisper-base')
  expect(second.text).toMatch(/playa con toda la familia/iu)
})

test('Spanish is translated', async () => {
  const { body } = await verbose(spanish, [['model', 'asr-1']], 'translate')
  expect(body.text).toMatch(/tomorrow.*travel.*beach.*family/iu)
  expect(body).toMatchObject({ task: 'translate', language: 'es' })
})

test('a prompt sets the spelling', async () => {
  await say(path.join(root, 'names.wav'), 'Catherine and Steven met Jeffrey in the theater.')
  const names = await readFile(path.join(root, 'names.wav'))
  const fields: [string, string][] = [
    ['model', 'asr-1'],
    ['language', 'en'],
  ]
  const plain = await verbose(names, fields)
  const prompted = await verbose(names, [...fields, ['prompt', 'Kathryn, Stephen, Geoffrey, theatre']])
  expect(plain.body.text).not.toContain('theatre')
  expect(prompted.body.text).toMatch(/Kathryn and Stephen.*Geoffrey.*theatre/u)
})

test('silence has no text', async () => {
  await ffmpeg(root, '-f', 'lavfi', '-i', 'anoisesrc=a=0.003:d=5', 'silence.wav')
  const silence = await readFile(path.join(root, 'silence.wav'))
  const { body } = await verbose(silence, [['model', 'asr-1']])
  expect(body).toMatchObject({ text: '', segments: [] })
  expect(body.duration).toBeCloseTo(5, 1)
  const quick = await client.post('transcribe', silence, [['model', 'chat-4o-mini-transcribe']])
  expect(await quick.json()).toEqual({ text: '' })
})

const places = [
  'London is a city on the river Thames.',
  'My uncle bought a yellow bicycle last summer.',
  'The doctor said that I should drink more water.',
  'We painted the kitchen in a bright shade of green.',
  'Seventeen horses ran across the open field.',
  'She plays the violin better than anyone else.',
  'The train to Berlin was late again this morning.',
  'He lost his umbrella in the parking garage.',
  'Our neighbours keep chickens behind the house.',
  'The volcano has been sleeping for a thousand years.',
  'I would like a sandwich with cheese and tomatoes.',
  'The library closes early on Saturday afternoon.',
  'A strong wind broke the tallest tree in the park.',
  'They sailed around the island in a wooden boat.',
  'The professor wrote a book about ancient Egypt.',
  'Grandmother makes the best chocolate cake.',
  'The police found the money under the carpet.',
  'An honest man has a friendly face.',
  'The astronaut waved from the window of the rocket.',
  'Winter is the coldest season of the year.',
  'Good night and thank you for listening.',
]
const keys = [
  ...[
    'london',
    'bicycle',
    'doctor',
    'kitchen',
    'horses',
    'violin',
    'berlin',
    'umbrella',
    'chickens',
    'volcano',
  ],
  ...['sandwich', 'library', 'tree', 'island', 'egypt', 'chocolate', 'money', 'friendly', 'rocket', 'winter'],
  'listening',
]

test('text over several windows is neither lost nor duplicated', async () => {
  const { body } = await verbose(await readFile(path.join(root, 'long.wav')), [
    ['model', 'asr-1'],
    ['language', 'en'],
  ])
  expect(body.duration).toBeGreaterThan(60)
  const found = wordsOf(body.text).filter((word) => keys.includes(word))
  expect(found).toEqual(keys)
  expect(new Set(body.segments.map(({ seek }) => seek)).size).toBeGreaterThanOrEqual(3)
  for (const [index, segment] of body.segments.entries()) {
    expect(segment.start).toBeGreaterThanOrEqual(body.segments[index - 1]?.end ?? 0)
  }
})

test('a stream sends the text in chunks and then as a whole', async () => {
  const response = await client.post('transcribe', english, [
    ['model', 'chat-4o-mini-transcribe'],
    ['language', 'en'],
    ['stream', 'true'],
  ])
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  expect(response.headers.get('x-engine')).toBe('moonshine-tiny')
  const events = (await response.text())
    .trim()
    .split('\n\n')
    .map(
      (event) => JSON.parse(event.replace(/^data: /u, '')) as { type: string; delta?: string; text?: string },
    )
  const done = events.pop()
  expect(done).toMatchObject({ type: 'transcript.text.done' })
  expect(events.every(({ type }) => type === 'transcript.text.delta')).toBe(true)
  expect(events.map(({ delta }) => delta).join('')).toBe(done?.text)
  expect(wordErrorRate(done?.text ?? '', sentences.join(' '))).toBeLessThanOrEqual(0.05)
})

/** Uses the fastest model. */
const order = (file: string): RecognitionOrder => ({
  path: path.join(root, file),
  model: 'asr-large-v3-turbo',
  task: 'transcribe',
  language: 'en',
  temperature: 0,
  wantsSegments: false,
  wantsWords: false,
})
const patience = () => AbortSignal.timeout(120_000)

async function textOf(file: string): Promise<string> {
  const events = recogniser.recognise(order(file), patience())
  for (;;) {
    const next = await events.next()
    if (next.done === true) return next.value.text
  }
}

test('an aborted recording stops, and the next one starts', async () => {
  const stop = new AbortController()
  const events = recogniser.recognise({ ...order('long.wav'), wantsSegments: true }, stop.signal)
  expect((await events.next()).value).toMatchObject({ type: 'begun', engine: 'whisper-base' })
  const { pid } = models.at(-1)!
  stop.abort(new Error('gone'))
  await expect(events.next()).rejects.toThrow('gone')
  const begun = process.hrtime.bigint()
  expect(await textOf('english.wav')).toContain('museum')
  process.stdout.write(`after a recording given up: ${(process.hrtime.bigint() - begun) / 1_000_000n} ms\n`)
  expect(models.at(-1)).toEqual({ pid, hasEnded: false })
})

test('a process that dies fails its recording, and the next recording gets a new process', async () => {
  const count = models.length
  const events = recogniser.recognise(order('long.wav'), patience())
  await events.next()
  process.kill(models.at(-1)!.pid, 'SIGKILL')
  await expect(drained(events)).rejects.toThrow('SIGKILL')
  const { status, body } = await verbose(spanish, [['model', 'asr-large-v3-turbo']])
  expect({ status, language: body.language }).toEqual({ status: 200, language: 'es' })
  expect(models).toHaveLength(count + 1)
})

async function drained(events: AsyncGenerator): Promise<void> {
  while ((await events.next()).done !== true);
}

test('the number of waiting recordings is limited', async () => {
  const stop = new AbortController()
  const waiting = Array.from({ length: 16 }, () => recogniser.recognise(order('english.wav'), stop.signal))
  const first = waiting.map((events) => events.next().catch(() => undefined))
  const response = await client.post('transcribe', spanish, [['model', 'asr-1']])
  expect(response.status).toBe(503)
  expect(response.headers.get('retry-after')).toBe('5')
  expect(await response.json()).toMatchObject({ error: { code: 'busy' } })
  await expect(recogniser.hear(path.join(root, 'english.wav'), 'asr-1', stop.signal)).rejects.toThrow(
    InferenceBusy,
  )
  stop.abort(new Error('enough'))
  await Promise.all(first)
  await Promise.all(waiting.map((events) => events.next().catch(() => undefined)))
})

test('idle models are unloaded', async () => {
  const brief = createRecognition({ directory, programs, ffmpegPath: 'ffmpeg', log: follow, idleMs: 1 })
  await drained(brief.recognise(order('english.wav'), patience()))
  await expect.poll(() => models.at(-1)!.hasEnded).toBe(true)
  await brief.close()
})

test('without models English is recognized roughly, and other requests are rejected', async () => {
  const poor = createRecognition({
    directory: onlySets(directory),
    programs,
    ffmpegPath: 'ffmpeg',
    log: () => {},
  })
  const poorClient = await serveRecognition(poor)
  const rough = await poorClient.post('transcribe', english, [
    ['model', 'asr-1'],
    ['language', 'en'],
  ])
  expect(rough.headers.get('x-engine')).toBe('pocketsphinx')
  expect(rough.headers.get('x-engine-wanted')).toBe('whisper-small')
  const { text } = (await rough.json()) as { text: string }
  expect(wordErrorRate(text, sentences.join(' '))).toBeLessThan(0.5)
  const refused = {
    error: {
      code: 'weights_missing',
      message: expect.stringContaining('kinora models pull recognition') as string,
    },
  }
  const others = await Promise.all([
    poorClient.post('transcribe', english, [
      ['model', 'asr-1'],
      ['response_format', 'verbose_json'],
    ]),
    poorClient.post('transcribe', spanish, [
      ['model', 'asr-1'],
      ['language', 'es'],
    ]),
    poorClient.post('translate', spanish, [['model', 'asr-1']]),
    // It would be treated as English.
    poorClient.post('transcribe', spanish, [['model', 'asr-1']]),
  ])
  for (const response of others) {
    expect(response.status).toBe(503)
    expect(await response.json()).toMatchObject(refused)
  }
  await poorClient.close()
})

test.each<[string, [string, string][]]>([
  ['no model', []],
  [
    'another format',
    [
      ['model', 'asr-1'],
      ['response_format', 'srt'],
    ],
  ],
  [
    'a high temperature',
    [
      ['model', 'asr-1'],
      ['temperature', '1.5'],
    ],
  ],
  [
    'an unknown language',
    [
      ['model', 'asr-1'],
      ['language', 'xx'],
    ],
  ],
  [
    'other times',
    [
      ['model', 'asr-1'],
      ['timestamp_granularities[]', 'phrase'],
    ],
  ],
])('rejects a request with %s', async (_name, fields) => {
  const response = await client.post('transcribe', spanish, fields)
  expect(response.status).toBe(400)
  expect(await response.json()).toMatchObject({ error: { code: 'invalid_request' } })
})

test('a file that is not a recording is rejected', async () => {
  for (const file of [Buffer.alloc(0), Buffer.from('#EXTM3U\n/etc/passwd\n')]) {
    const response = await client.post('transcribe', file, [['model', 'asr-1']])
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: { code: 'invalid_file_format' } })
  }
})
