import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { askDialogue, textOf, user, type DialogueClient } from '../../test/kit/ask-dialogue.ts'
import type { ModelDirectory } from '../models/model-directory.ts'
import { createSpeech, type Speech } from '../speech/speech.ts'
import { createDialogue } from './dialogue.ts'

const run = promisify(execFile)
const nothingPulled: ModelDirectory = { path: '/', find: () => undefined }
const log = () => {}

let speech: Speech
let client: DialogueClient
let listening: AbortSignal | undefined
let workDirectory: string

/** Returns the format and the length of the audio, which proves that it arrived. */
async function recognise(path: string, signal: AbortSignal) {
  listening = signal
  const args = ['-v', 'error', '-show_entries', 'format=format_name,duration', '-of', 'csv=p=0', path]
  const { stdout } = await run('ffprobe', args).catch(() => {
    throw Object.assign(new Error('This is no sound.'), { code: 'invalid_file_format' })
  })
  const [format, duration] = stdout.trim().split(',')
  return { text: ` A ${format} sound. `, durationSeconds: Number(duration) }
}

beforeAll(async () => {
  speech = createSpeech({ directory: nothingPulled, ffmpegPath: 'ffmpeg', espeakPath: 'espeak-ng', log })
  workDirectory = await mkdtemp(path.join(tmpdir(), 'kinora-dialogue-test-'))
  client = await askDialogue(
    createDialogue({
      workDirectory,
      directory: nothingPulled,
      ffmpegPath: 'ffmpeg',
      recognise,
      speak: (order, signal) => speech.speak({ ...order, speed: 1 }, signal),
      log,
    }),
  )
})
afterAll(async () => {
  await client.close()
  await speech.close()
  await rm(workDirectory, { recursive: true })
})

async function tone(format: string, seconds: number): Promise<string> {
  const args = ['-v', 'error', '-f', 'lavfi', '-i', `sine=d=${seconds}`, '-f', format, '-']
  const { stdout } = await run('ffmpeg', args, { encoding: 'buffer' })
  return stdout.toString('base64')
}

const sound = (data: string, format: string) => ({ type: 'input_audio', input_audio: { data, format } })

test('without a model the reply is a labelled echo', async () => {
  const response = await client.ask({ messages: [user('old'), user('Hello there')] })
  expect(response.headers.get('x-engine')).toBe('echo')
  expect(response.headers.get('x-engine-wanted')).toBe('tinyllama')
  const body = await response.json()
  expect(body).toMatchObject({
    object: 'chat.completion',
    model: 'chat-4o-audio-preview',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'Local echo model: I heard: «Hello there»' },
        finish_reason: 'stop',
      },
    ],
  })
  expect(body).toHaveProperty('usage', {
    prompt_tokens: 5,
    completion_tokens: 12,
    total_tokens: 17,
    prompt_tokens_details: { text_tokens: 5, audio_tokens: 0 },
    completion_tokens_details: { text_tokens: 12, audio_tokens: 0 },
  })
})

const messages = [user('one two three four five six')]

test.each(['max_tokens', 'max_completion_tokens'])('a reply ends after %s', async (name) => {
  const whole = await client.complete({ messages })
  const tokens = whole.usage?.completion_tokens ?? 0
  const content = whole.choices[0]?.message.content ?? ''
  for (const most of [1, 7, tokens - 1]) {
    const { choices, usage } = await client.complete({ messages, n: 2, [name]: most })
    for (const { message, finish_reason } of choices) {
      expect(content.startsWith(message.content)).toBe(true)
      expect(message.content.length).toBeLessThan(content.length)
      expect(finish_reason).toBe('length')
    }
    expect(usage?.completion_tokens).toBe(2 * most)
  }
  const { choices, usage } = await client.complete({ messages, [name]: tokens })
  expect([choices[0]?.message.content, choices[0]?.finish_reason]).toEqual([content, 'stop'])
  expect(usage).toEqual(whole.usage)
})

test('a streamed reply ends after max_tokens', async () => {
  const short = await client.complete({ messages, max_tokens: 7 })
  const chunks = await client.stream({ messages, max_tokens: 7, stream_options: { include_usage: true } })
  expect(textOf(chunks, 0)).toBe(short.choices[0]?.message.content)
  expect(chunks.at(-2)?.choices).toEqual([{ index: 0, delta: {}, finish_reason: 'length' }])
  expect(chunks.at(-1)?.usage).toEqual(short.usage)
})

test('max_tokens limits text and audio of a spoken reply together, and both have the same content', async () => {
  const spoken = { messages, modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'pcm16' } }
  const bytesOf = ({ choices }: Awaited<ReturnType<typeof client.complete>>) =>
    Buffer.from(choices[0]?.message.audio?.data ?? '', 'base64').length
  const whole = await client.complete(spoken)
  const tokens = whole.usage?.completion_tokens ?? 0
  for (const most of [15, 30, tokens - 1]) {
    const short = await client.complete({ ...spoken, max_tokens: most })
    const { message, finish_reason } = short.choices[0]!
    expect(finish_reason).toBe('length')
    expect(whole.choices[0]?.message.content.startsWith(message.content)).toBe(true)
    expect(message.audio?.transcript).toBe(message.content)
    expect(bytesOf(short)).toBeLessThan(bytesOf(whole))
    expect(short.usage?.completion_tokens).toBeLessThanOrEqual(most)
    expect(short.usage?.completion_tokens_details.audio_tokens).toBe(
      Math.ceil((bytesOf(short) / 48_000) * 10),
    )
  }
  const { choices } = await client.complete({ ...spoken, max_tokens: tokens })
  expect(choices[0]?.finish_reason).toBe('stop')
})

test('a spoken reply has at least one token with its audio', async () => {
  const { choices, usage } = await client.complete({
    ...{ messages, max_tokens: 1, modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'pcm16' } },
  })
  expect(choices[0]?.finish_reason).toBe('length')
  expect(usage?.completion_tokens_details.text_tokens).toBe(1)
  expect(choices[0]?.message.audio?.data).not.toBe('')
})

test('a streamed reply has the same text in chunks', async () => {
  const whole = await client.complete({ messages })
  const chunks = await client.stream({ messages, n: 2, stream_options: { include_usage: true } })
  for (const index of [0, 1]) expect(textOf(chunks, index)).toBe(whole.choices[0]?.message.content)
  expect(chunks.length).toBeGreaterThan(10)
  expect(chunks.at(-2)?.choices).toEqual([{ index: 1, delta: {}, finish_reason: 'stop' }])
})

test('text and audio of a message are combined', async () => {
  const parts = [{ type: 'text', text: 'What is this?' }, sound(await tone('wav', 1), 'wav')]
  const { choices } = await client.complete({
    messages: [user([...parts, sound(await tone('mp3', 1), 'mp3')])],
  })
  expect(choices[0]?.message.content).toContain('«What is this?\nA wav sound.\nA mp3 sound.»')
})

test.each([
  ['wav', 'pcm_s16le'],
  ['mp3', 'mp3'],
  ['opus', 'opus'],
  ['flac', 'flac'],
])('a reply is spoken as %s', async (format, codec) => {
  const { choices } = await client.complete({
    messages: [user('Hi')],
    modalities: ['text', 'audio'],
    audio: { voice: 'alloy', format },
  })
  const { content, audio } = choices[0]!.message
  expect(audio).toMatchObject({ id: expect.stringMatching(/^audio_/u) as string, transcript: content })
  expect(audio!.expires_at).toBeGreaterThan(Date.now() / 1000)
  const probe = run('ffprobe', [
    ...['-v', 'error', '-show_entries', 'stream=codec_name,sample_rate,channels', '-of', 'csv=p=0', '-'],
  ])
  probe.child.stdin?.on('error', () => {}).end(Buffer.from(audio!.data, 'base64'))
  expect((await probe).stdout).toMatch(new RegExp(`^${codec},(24000|48000),1`, 'u'))
})

test('a wav header contains the length of the audio', async () => {
  const audio = { voice: 'nova', format: 'wav' }
  const { choices } = await client.complete({ messages: [user('Hi')], modalities: ['audio'], audio })
  const bytes = Buffer.from(choices[0]!.message.audio!.data, 'base64')
  expect(bytes.readUInt32LE(4)).toBe(bytes.length - 8)
  expect(bytes.readUInt32LE(40)).toBe(bytes.length - 44)
})

test('a later message can reference a spoken reply by its id', async () => {
  const audio = { voice: 'alloy', format: 'pcm16' }
  const first = await client.complete({ messages: [user('Hi')], modalities: ['text', 'audio'], audio })
  const { id } = first.choices[0]!.message.audio!
  const asked = (named: string) =>
    client.complete({ messages: [user('Hi'), { role: 'assistant', audio: { id: named } }, user('Again')] })
  expect((await asked(id)).status).toBe(200)
  const { status, error } = await asked('audio_unknown')
  expect([status, error?.code, error?.param]).toEqual([400, 'invalid_parameter', 'messages[1].audio.id'])
})

const text = 'messages[0].content[0]'

test.each<[string, object, number, string, string?]>([
  ['no message', { messages: [] }, 400, 'invalid_parameter', 'messages'],
  ['another model', { model: 'x', messages: [user('x')] }, 404, 'model_not_found', 'model'],
  [
    'a strange role',
    { messages: [{ role: 'x', content: 'x' }] },
    400,
    'invalid_parameter',
    'messages[0].role',
  ],
  ['a strange part', { messages: [user([{ type: 'x' }])] }, 400, 'invalid_parameter', `${text}.type`],
  [
    'bad base64',
    { messages: [user([sound('%', 'wav')])] },
    400,
    'invalid_parameter',
    `${text}.input_audio.data`,
  ],
  [
    'empty sound',
    { messages: [user([sound('', 'wav')])] },
    400,
    'invalid_parameter',
    `${text}.input_audio.data`,
  ],
  [
    'ogg',
    { messages: [user([sound('QUJD', 'ogg')])] },
    400,
    'invalid_parameter',
    `${text}.input_audio.format`,
  ],
  [
    'no sound',
    { messages: [user([sound('QUJD', 'wav')])] },
    400,
    'invalid_file_format',
    `${text}.input_audio.data`,
  ],
  ['too many choices', { messages: [user('x')], n: 129 }, 400, 'invalid_parameter', 'n'],
  ['half a choice', { messages: [user('x')], n: 1.5 }, 400, 'invalid_parameter', 'n'],
  [
    'a temperature that is too high',
    { messages: [user('x')], temperature: 2.1 },
    400,
    'invalid_parameter',
    'temperature',
  ],
  ['no tokens', { messages: [user('x')], max_tokens: 0 }, 400, 'invalid_parameter', 'max_tokens'],
  ['no voice', { messages: [user('x')], modalities: ['audio'] }, 400, 'invalid_parameter', 'audio'],
  [
    'an unknown voice',
    { messages: [user('x')], modalities: ['audio'], audio: { voice: 'x', format: 'wav' } },
    400,
    'voice_not_supported',
    'audio.voice',
  ],
  [
    'streamed speech',
    { messages: [user('x')], stream: true, modalities: ['audio'], audio: { voice: 'alloy', format: 'wav' } },
    400,
    'invalid_parameter',
    'stream',
  ],
])('rejects a request with %s', async (_name, body, status, code, param) => {
  const answer = await client.complete(body)
  expect([answer.status, answer.error?.code, answer.error?.param]).toEqual([status, code, param])
})

test('a request with audio names the missing recognition model', async () => {
  const message = 'Run kinora models pull recognition.'
  const deaf = await askDialogue(
    createDialogue({
      directory: nothingPulled,
      ffmpegPath: 'ffmpeg',
      recognise: () => Promise.reject(Object.assign(new Error(message), { code: 'weights_missing' })),
      speak: (order, signal) => speech.speak({ ...order, speed: 1 }, signal),
      log,
    }),
  )
  const { status, error } = await deaf.complete({ messages: [user([sound('QUJD', 'wav')])] })
  await deaf.close()
  expect([status, error]).toEqual([503, { code: 'weights_missing', message }])
})

test('a client that disconnects stops the recognition, and no files remain', async () => {
  const leaving = new AbortController()
  listening = undefined
  const short = await tone('wav', 0.1)
  const heard = Array.from({ length: 200 }, () => sound(short, 'wav'))
  const asking = client.ask({ messages: [user(heard)] }, leaving.signal)
  await expect.poll(() => listening).toBeDefined()
  leaving.abort()
  await expect(asking).rejects.toThrow(/abort/iu)
  await expect.poll(() => listening?.aborted).toBe(true)
  await expect.poll(() => readdir(workDirectory)).toEqual([])
})
