import OpenAI, { APIError } from 'openai'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { ask, errorBodyOf } from '../kit/answers.ts'
import { allEventsIn, eventsIn, type ReadEvent } from '../kit/event-reader.ts'
import { startStack, type Stack } from '../kit/stack.ts'

let stack: Stack
let client: OpenAI

beforeAll(async () => {
  stack = await startStack({ vendorDurationMs: 3_000 })
  client = new OpenAI({ baseURL: `${stack.url}/v1`, apiKey: stack.key, maxRetries: 0 })
})
afterAll(() => stack[Symbol.asyncDispose]())

const bodyOf = (content: string) => ({
  model: 'vidB-2',
  messages: [{ role: 'user' as const, content }],
})

/** Expects the three kinds of lines in order, progress that grows to 100 %, and a link that opens. */
const expectWhole = async (lines: string[]) => {
  const taskId = /^task_id: (vidB-2:\d{10}-\w+)$/.exec(lines[0] ?? '')?.[1]
  const url = /^video_url: (\S+)$/.exec(lines.at(-1) ?? '')?.[1]
  const percents = lines.slice(1, -1).map((line) => Number(/^progress: (\d+)%$/.exec(line)?.[1]))
  expect(percents.length).toBeGreaterThanOrEqual(2)
  expect(percents).toEqual([...new Set(percents)].toSorted((a, b) => a - b))
  expect(percents.at(-1)).toBe(100)
  const video = await fetch(String(url))
  expect(video.headers.get('content-type')).toBe('video/mp4')
  expect(Buffer.from(await video.arrayBuffer()).toString('latin1', 4, 8)).toBe('ftyp')
  const { body } = await ask(`${stack.url}/v1/videos/${taskId}`, stack.key)
  expect(body).toMatchObject({ id: taskId, status: 'completed', progress: 100 })
}

/** The lines of a stream. Each of its chunks is one. */
const linesIn = (contents: string[]): string[] => {
  for (const content of contents) expect(content).toMatch(/^.+\n$/)
  return contents.map((content) => content.trimEnd())
}

const chat = (content: string) =>
  fetch(`${stack.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${stack.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...bodyOf(content), stream: true }),
  })

test.concurrent('the official client, streamed', async () => {
  const lines: string[] = []
  const reasons: unknown[] = []
  const stream = await client.chat.completions.create({ ...bodyOf('A whale for a client'), stream: true })
  for await (const chunk of stream) {
    lines.push(chunk.choices[0]?.delta.content ?? '')
    reasons.push(chunk.choices[0]?.finish_reason)
  }
  await expectWhole(linesIn(lines))
  expect(reasons).toEqual([...lines.slice(1).map(() => null), 'stop'])
})

test.concurrent('the streaming helper of the official client', async () => {
  const lines: string[] = []
  const stream = client.chat.completions
    .stream(bodyOf('A whale for a helper'))
    .on('content', (delta) => lines.push(delta))
  const completion = await stream.finalChatCompletion()
  await expectWhole(linesIn(lines))
  const message = { role: 'assistant', content: lines.join('') }
  expect(completion.choices[0]).toMatchObject({ finish_reason: 'stop', message })
  expect(await stream.finalContent()).toBe(lines.join(''))
})

test.concurrent('the official client, not streamed, under /openai/v1', async () => {
  const openAiClient = new OpenAI({ baseURL: `${stack.url}/openai/v1`, apiKey: stack.key, maxRetries: 0 })
  const completion = await openAiClient.chat.completions.create(bodyOf('A whale at once'))
  const lines = completion.choices[0]?.message.content?.split('\n') ?? []
  expect(lines).toHaveLength(3)
  await expectWhole([lines[0], 'progress: 0%', lines[1], lines[2]] as string[])
})

test.concurrent('a client that reads lines', async () => {
  const lines: string[] = []
  let rest = ''
  for await (const part of ((await chat('A whale for a reader')).body ?? new ReadableStream()).pipeThrough(
    new TextDecoderStream(),
  )) {
    const whole = (rest + part).split('\n')
    rest = whole.pop() ?? ''
    lines.push(...whole.filter((line) => line.startsWith('data: ')))
  }
  expect(lines.pop()).toBe('data: [DONE]')
  const contents = lines.map(
    (line) =>
      (JSON.parse(line.slice('data: '.length)) as { choices: [{ delta: { content: string } }] }).choices[0]
        .delta.content,
  )
  await expectWhole(linesIn(contents))
})

test.concurrent('a task that fails: the client throws, and the stream has the error and the end', async () => {
  const prompt = 'A vendor:fail=content_policy_violation whale'
  const lines: string[] = []
  const failed = await client.chat.completions
    .create({ ...bodyOf(prompt), stream: true })
    .then(async (stream) => {
      for await (const chunk of stream) lines.push(chunk.choices[0]?.delta.content ?? '')
    })
    .catch((error: unknown) => error)
  expect(lines[0]).toMatch(/^task_id: /)
  expect(failed).toBeInstanceOf(APIError)
  expect(failed).toMatchObject({ code: 'content_policy_violation', type: 'content_policy_error' })

  const events = await allEventsIn((await chat(`${prompt} again`)).body)
  expect(events.at(-1)).toEqual({ data: '[DONE]' })
  expect(JSON.parse(events.at(-2)?.data ?? '')).toEqual(errorBodyOf('content_policy_violation'))

  const waited = client.chat.completions.create(bodyOf(`${prompt} at once`))
  await expect(waited).rejects.toMatchObject({ status: 400, code: 'content_policy_violation' })
})

const follow = (taskId: string, last: ReadEvent | undefined, signal: AbortSignal) =>
  fetch(`${stack.url}/v1/videos/${taskId}/events`, {
    headers: {
      authorization: `Bearer ${stack.key}`,
      ...(last?.id !== undefined && { 'last-event-id': last.id }),
    },
    signal,
  })

test('events continue after any interruption, without gaps or duplicates', async () => {
  const taskId = await stack.create('A vendor:duration=8000ms whale')
  const received: ReadEvent[] = []
  let breaks = 0
  while (received.at(-1)?.event !== 'completed') {
    const disconnect = new AbortController()
    try {
      const response = await follow(taskId, received.at(-1), disconnect.signal)
      for await (const event of eventsIn(response.body)) {
        if (event.id === undefined) continue
        received.push(event)
        if (event.event === 'completed') break
        breaks += 1
        // The client disconnects after most events; the server is killed once and stopped once.
        if (breaks === 3) await stack.api.kill().then(stack.api.start)
        else if (breaks === 5) await stack.api.stop().then(stack.api.start)
        else disconnect.abort()
      }
    } catch {
      // Interrupted; the next iteration continues after the last event.
    }
  }
  const replayed = await allEventsIn((await follow(taskId, undefined, AbortSignal.timeout(120_000))).body)
  expect(received.map(({ id, event }) => [id, event])).toEqual(replayed.map(({ id, event }) => [id, event]))
  expect(breaks).toBeGreaterThanOrEqual(5)
  expect(received.map(({ event }) => event)).toEqual(
    expect.arrayContaining(['accepted', 'processing', 'progress', 'completed']),
  )
  const { completed = 0, failed = 0 } = await stack.states()
  await stack.assertLedger({ completed, failed })
})
