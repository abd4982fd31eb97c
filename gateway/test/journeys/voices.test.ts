/** Speech and recognition of the built-in provider through the whole service, with the official client library. */
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import OpenAI, { toFile } from 'openai'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { modelDirectory } from '../../../local/test/kit/model-directory.ts'
import { neuralVoice } from '../../../local/test/kit/neural-voice.ts'
import { wordErrorRate } from '../../../local/test/kit/word-errors.ts'
import { startStack, type Stack } from '../kit/stack.ts'
import { readSrt, readVtt } from '../kit/subtitles.ts'

const directory = modelDirectory(
  'onnxruntime',
  'kokoro',
  'kokoro-voices',
  'moonshine-tiny',
  'silero-vad',
  'whisper-tiny',
  'whisper-base',
)
const speechModel = 'chat-4o-mini-tts-2025-12-15'
const passage =
  'The old lighthouse keeper counted eleven ships before breakfast. ' +
  'Two of them carried oranges, and the others carried nothing but stories. ' +
  'By evening the harbour was quiet again, and the lamp was burning.'

let stack: Stack
let client: OpenAI
let folder: string
let spoken: Buffer
let spanish: Buffer

const probe = async (name: string, bytes: Buffer) => {
  await writeFile(join(folder, name), bytes)
  const { stdout } = await promisify(execFile)('ffprobe', [
    ...['-v', 'error', '-of', 'json', '-show_entries', 'stream=codec_name,channels:format=duration'],
    join(folder, name),
  ])
  const { streams, format } = JSON.parse(stdout) as {
    streams: { codec_name: string; channels: number }[]
    format: { duration?: string }
  }
  return { codec: streams[0]?.codec_name, channels: streams[0]?.channels, seconds: Number(format.duration) }
}

const bytesOf = async (answer: Response) => Buffer.from(await answer.arrayBuffer())

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kinora-voices-'))
  stack = await startStack({ provider: 'local', environment: { MODEL_DIR: directory.path } })
  client = new OpenAI({ apiKey: stack.key, baseURL: `${stack.url}/v1`, timeout: 600_000 })
})

afterAll(async () => {
  await stack[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

test('speech is available in every format', async () => {
  const codecs = { mp3: 'mp3', opus: 'opus', aac: 'aac', flac: 'flac', wav: 'pcm_s16le' } as const
  for (const [format, codec] of Object.entries(codecs) as [keyof typeof codecs, string][]) {
    const answer = await client.audio.speech.create({
      model: speechModel,
      voice: 'alloy',
      input: 'Hello there.',
      response_format: format,
    })
    expect(answer.headers.get('x-engine')).toBe('kokoro')
    expect(await probe(`hello.${format}`, await bytesOf(answer))).toMatchObject({ codec, channels: 1 })
  }
  const pcm = await client.audio.speech.create({
    model: 'ttsB-3.1-flash-tts-preview',
    voice: 'Kore',
    input: 'Hello there.',
    response_format: 'pcm',
  })
  const seconds = (await bytesOf(pcm)).length / 2 / 24_000
  expect(seconds).toBeGreaterThan(0.4)
  expect(seconds).toBeLessThan(3)
})

test('spoken text is recognized with a word error rate of at most 5 %', async () => {
  spoken = await bytesOf(
    await client.audio.speech.create({ model: speechModel, voice: 'fable', input: passage }),
  )
  const file = () => toFile(spoken, 'passage.mp3')
  const rates: string[] = []
  for (const model of ['asr-1', 'asr-large-v3-turbo']) {
    const { text } = await client.audio.transcriptions.create({ model, file: await file() })
    const rate = wordErrorRate(passage.replace('harbour', 'harbor'), text.replace('harbour', 'harbor'))
    rates.push(`${model} ${(rate * 100).toFixed(1)} %`)
    expect(rate, text).toBeLessThanOrEqual(0.05)
  }
  console.log(`word error rate of a spoken passage: ${rates.join(', ')}`)
})

test('subtitles are in order within the recording, and verbose_json is complete', async () => {
  const { seconds } = await probe('passage.mp3', spoken)
  const file = await toFile(spoken, 'passage.mp3')
  const verbose = await client.audio.transcriptions.create({
    model: 'asr-1',
    file,
    response_format: 'verbose_json',
    timestamp_granularities: ['word', 'segment'],
  })
  expect(verbose.language).toBe('english')
  expect(verbose.duration).toBeCloseTo(seconds, 1)
  for (const segment of verbose.segments ?? []) {
    expect(segment.avg_logprob).toBeLessThan(0)
    expect(segment.compression_ratio).toBeGreaterThan(0)
    expect(segment.no_speech_prob).toBeGreaterThan(0)
    expect(segment.tokens.length).toBeGreaterThan(0)
  }
  expect(verbose.words?.length).toBeGreaterThan(25)
  const srt = await client.audio.transcriptions.create({ model: 'asr-1', file, response_format: 'srt' })
  const cues = readSrt(srt)
  expect(cues.length).toBe(verbose.segments?.length)
  expect(cues.at(-1)?.endMs).toBeLessThanOrEqual(Math.ceil(seconds * 1000))
})

test('a Spanish sentence has the same Spanish text with and without timestamps', async () => {
  const voice = neuralVoice(directory)
  const recording = join(folder, 'spanish.wav')
  await voice.say(recording, 'ef_dora', 'es', [
    'El médico dice que mi hermana debe dormir ocho horas cada noche.',
  ])
  await voice.close()
  spanish = await readFile(recording)
  const file = await toFile(spanish, 'spanish.wav')
  const transcribeAs = async (format: 'json' | 'vtt') => {
    const order = { model: 'asr-1', file, response_format: format } as OpenAI.Audio.TranscriptionCreateParams
    const answer = await client.audio.transcriptions.create(order).asResponse()
    expect(answer.headers.get('x-engine')).toBe('whisper-base')
    return answer.text()
  }
  const { text } = JSON.parse(await transcribeAs('json')) as { text: string }
  expect(text).toMatch(/m[eé]dico dice que mi hermana debe dormir/i)
  const cues = readVtt(await transcribeAs('vtt'))
  expect(cues.map((cue) => cue.text).join(' ')).toBe(text)
})

test('a Spanish sentence is translated into English', async () => {
  const file = await toFile(spanish, 'spanish.wav')
  const { text } = await client.audio.translations.create({ model: 'asr-1', file })
  console.log(`translated: ${text}`)
  for (const word of [/doctor/i, /sister/i, /sleep/i, /eight|8/i, /night/i]) expect(text).toMatch(word)
})

test('a text in an unsupported script is refused with a clear message', async () => {
  const order = { model: speechModel, voice: 'alloy', input: 'สวัสดีชาวโลก' }
  await expect(client.audio.speech.create(order)).rejects.toMatchObject({
    status: 400,
    code: 'invalid_parameter',
    param: 'input',
    message: expect.stringContaining('No voice can speak Thai letters') as string,
  })
})

test('a spoken question gets a spoken answer', async () => {
  const question = await client.audio.speech.create({
    model: speechModel,
    voice: 'nova',
    input: 'How are the fish today?',
    response_format: 'wav',
  })
  const reply = await client.chat.completions.create({
    model: 'chat-4o-audio-preview',
    modalities: ['text', 'audio'],
    audio: { voice: 'echo', format: 'mp3' },
    messages: [
      {
        role: 'user',
        content: [
          {
            type: 'input_audio',
            input_audio: { data: (await bytesOf(question)).toString('base64'), format: 'wav' },
          },
        ],
      },
    ],
  })
  const message = reply.choices[0]?.message
  expect(message?.content).toMatch(/fish/i)
  expect(message?.audio?.transcript).toBe(message?.content)
  const answer = Buffer.from(message?.audio?.data ?? '', 'base64')
  const { codec, seconds } = await probe('answer.mp3', answer)
  expect(codec).toBe('mp3')
  expect(seconds).toBeGreaterThan(1)
})
