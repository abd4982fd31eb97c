import { existsSync, readFileSync } from 'node:fs'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { askDialogue, textOf, user, type DialogueClient } from '../../test/kit/ask-dialogue.ts'
import { modelDirectory } from '../../test/kit/model-directory.ts'
import { createSpeech, type Speech } from '../speech/speech.ts'
import { createDialogue, type DialogueOptions } from './dialogue.ts'

const capital = [user('What is the capital of France?')]
const story = [user('Tell me a long story about a fox.')]

let speech: Speech
let client: DialogueClient
let events: { event: string; fields: Record<string, unknown> }[] = []

function open(more: Partial<DialogueOptions> = {}): Promise<DialogueClient> {
  const directory = modelDirectory('tinyllama', 'llama-runtime')
  const dialogue = createDialogue({
    directory,
    ffmpegPath: 'ffmpeg',
    recognise: () => Promise.resolve({ text: 'What is the capital of France?', durationSeconds: 1.44 }),
    speak: (order, signal) => speech.speak({ ...order, speed: 1 }, signal),
    log: (event, fields) => events.push({ event, fields }),
    ...more,
  })
  return askDialogue(dialogue)
}

beforeAll(async () => {
  speech = createSpeech({
    directory: { path: '/', find: () => undefined },
    ffmpegPath: 'ffmpeg',
    espeakPath: 'espeak-ng',
    log: () => {},
  })
  client = await open()
})
afterAll(async () => {
  await client.close()
  await speech.close()
})

const processes = () =>
  events.filter(({ event }) => event === 'local.model_started').map(({ fields }) => fields['pid'])

/** CPU time of the model's process, which does not depend on the load of the machine. */
function cpuSeconds(): number {
  const fields = readFileSync(`/proc/${processes().at(-1) as number}/stat`, 'utf8')
    .split(') ')[1]!
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}

test('the model answers a question and reports its usage', async () => {
  const { choices, usage, engine } = await client.complete({ messages: capital, temperature: 0 })
  expect(engine).toBe('tinyllama')
  expect(choices[0]?.message.content).toContain('Paris')
  expect(choices[0]?.finish_reason).toBe('stop')
  expect(usage).toMatchObject({
    prompt_tokens: 40,
    prompt_tokens_details: { text_tokens: 40, audio_tokens: 0 },
    completion_tokens_details: { audio_tokens: 0 },
  })
  expect(usage!.completion_tokens).toBeGreaterThan(3)
})

test('a streamed reply has the same tokens, independent of earlier requests', async () => {
  const body = { messages: story, temperature: 0, max_tokens: 24 }
  const whole = await client.complete(body)
  await client.complete({ messages: capital, temperature: 0, max_tokens: 2 })
  const chunks = await client.stream({ ...body, stream_options: { include_usage: true } })
  expect(textOf(chunks)).toBe(whole.choices[0]?.message.content)
  expect(chunks.length).toBeGreaterThan(20)
  expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe('length')
  expect(chunks.at(-1)).toMatchObject({ choices: [], usage: whole.usage })
})

test('a reply ends after max_tokens', async () => {
  const { choices, usage } = await client.complete({ messages: story, max_tokens: 5 })
  expect(usage?.completion_tokens).toBe(5)
  expect(choices[0]?.finish_reason).toBe('length')
})

test('a reply ends before a stop sequence', async () => {
  const { choices } = await client.complete({ messages: capital, temperature: 0, stop: [' is Par'] })
  expect(choices[0]).toMatchObject({ message: { content: 'The capital of France' }, finish_reason: 'stop' })
})

test('choices are sampled independently, and a seed reproduces them', async () => {
  const body = { messages: story, temperature: 1.2, n: 2, max_tokens: 8, seed: 7 }
  const [first, second] = [await client.complete(body), await client.complete(body)]
  const texts = first.choices.map(({ message }) => message.content)
  expect(new Set(texts).size).toBe(2)
  expect(second.choices.map(({ message }) => message.content)).toEqual(texts)
  expect(first.usage?.completion_tokens).toBe(16)
})

test('the model sees earlier messages', async () => {
  const { choices, usage } = await client.complete({
    messages: [
      user('My name is Oliver.'),
      { role: 'assistant', content: 'Nice to meet you, Oliver.' },
      user('What is my name?'),
    ],
    temperature: 0,
    max_tokens: 16,
  })
  expect(choices[0]?.message.content).toContain('Oliver')
  expect(usage?.prompt_tokens).toBeGreaterThan(60)
})

test('a spoken question gets a spoken reply and is counted as audio', async () => {
  const data = Buffer.from('any sound').toString('base64')
  const { choices, usage } = await client.complete({
    messages: [user([{ type: 'input_audio', input_audio: { data, format: 'wav' } }])],
    temperature: 0,
    modalities: ['text', 'audio'],
    audio: { voice: 'alloy', format: 'mp3' },
  })
  const { content, audio } = choices[0]!.message
  expect(content).toContain('Paris')
  expect(audio?.transcript).toBe(content)
  expect(usage?.prompt_tokens_details).toEqual({ text_tokens: 33, audio_tokens: 15 })
  expect(usage!.completion_tokens_details.audio_tokens).toBeGreaterThan(10)
})

test('a conversation that is too long is shortened, and a message that is too long is rejected', async () => {
  const tooLong = user('fox '.repeat(2100))
  const { error, status } = await client.complete({ messages: [...capital, tooLong] })
  expect([status, error?.code]).toEqual([400, 'context_length_exceeded'])
  const { usage } = await client.complete({ messages: [tooLong, ...capital], max_tokens: 1 })
  expect(usage?.prompt_tokens).toBe(40)
})

test('a client that disconnects stops the reply', async () => {
  const leaving = new AbortController()
  const response = await client.ask({ messages: story, max_tokens: 256, stream: true }, leaving.signal)
  const reader = response.body!.getReader()
  await reader.read()
  leaving.abort()
  const before = cpuSeconds()
  await client.complete({ messages: story, max_tokens: 1 })
  // The whole reply would take about thirty seconds.
  expect(cpuSeconds() - before).toBeLessThan(6)
})

test('a killed process fails its reply, and the next request succeeds', async () => {
  const response = await client.ask({ messages: story, max_tokens: 256, stream: true })
  const reader = response.body!.getReader()
  await reader.read()
  process.kill(processes().at(-1) as number, 'SIGKILL')
  const read = async () => {
    while (!(await reader.read()).done);
  }
  await expect(read()).rejects.toThrow()
  const { choices } = await client.complete({ messages: capital, temperature: 0 })
  expect(choices[0]?.message.content).toContain('Paris')
})

test('an idle model frees its memory', async () => {
  events = []
  const brief = await open({ idleMs: 1 })
  await brief.complete({ messages: capital, max_tokens: 1 })
  await expect.poll(() => processes()).toHaveLength(1)
  await expect.poll(() => existsSync(`/proc/${processes()[0] as number}/status`)).toBe(false)
  await brief.close()
})
