import { Readable } from 'node:stream'

import { expect, test } from 'vitest'

import { failureOf, listenForTest } from '../../../test/kit/listen-for-test.ts'
import type { DialogueJob, DialogueChunk } from '../port/dialogue.ts'
import { openAiDialogue } from './openai-dialogue.ts'

const job = (changes: Partial<DialogueJob> = {}): DialogueJob => ({
  model: 'm',
  messages: [{ role: 'user', content: 'Hello', audioId: undefined }],
  audio: undefined,
  temperature: undefined,
  topP: undefined,
  maxTokens: 10,
  n: 1,
  stop: undefined,
  seed: undefined,
  ...changes,
})
const soon = () => AbortSignal.timeout(120_000)

const answering = (body: unknown, headers: Record<string, string> = {}) =>
  listenForTest((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
  })

const streaming = (text: string) =>
  listenForTest((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(text)
  })

const replyOf = (url: string, changes: Partial<DialogueJob> = {}, isOurs = false) =>
  openAiDialogue({ baseUrl: `${url}/v1`, apiKey: 'k', isOurs }).reply(job(changes), soon())

const chunksOf = async (url: string, changes: Partial<DialogueJob> = {}) => {
  const { chunks } = await openAiDialogue({ baseUrl: url, apiKey: 'k', isOurs: false }).streamReply(
    job(changes),
    soon(),
  )
  const found: DialogueChunk[] = []
  for await (const chunk of chunks) found.push(chunk)
  return found
}

test('recordings are streamed into their places, with a Content-Length', async () => {
  let received: { length: string | undefined; body: string } | undefined
  await using server = await listenForTest((request, response, body) => {
    received = { length: request.headers['content-length'], body: body.toString() }
    response.end(JSON.stringify({ choices: [{ message: { content: 'Yes' }, finish_reason: 'stop' }] }))
  })
  const reply = await replyOf(server.url, {
    messages: [
      {
        role: 'user',
        content: [
          { kind: 'text', text: 'What "is" this?' },
          {
            kind: 'audio',
            format: 'wav',
            sizeBytes: 8,
            openBase64: async () => Readable.from([Buffer.from('QUJDRA==')]),
          },
        ],
        audioId: undefined,
      },
      { role: 'assistant', content: '', audioId: 'audio_1' },
    ],
    temperature: 0.5,
    stop: ['.'],
  })
  expect(received?.length).toBe(String(Buffer.byteLength(received?.body ?? '')))
  expect(JSON.parse(received?.body ?? '')).toEqual({
    model: 'm',
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What "is" this?' },
          { type: 'input_audio', input_audio: { data: 'QUJDRA==', format: 'wav' } },
        ],
      },
      { role: 'assistant', audio: { id: 'audio_1' } },
    ],
    modalities: ['text'],
    temperature: 0.5,
    max_tokens: 10,
    stop: ['.'],
  })
  expect(reply).toEqual({
    choices: [{ text: 'Yes', audio: undefined, finishReason: 'stop' }],
    usage: undefined,
    engine: undefined,
  })
})

test('text that is only in the transcript is used, and tokens are counted by kind', async () => {
  const audio = { id: 'a1', data: 'QUJD', transcript: 'Well said', expires_at: 1_900_000_000 }
  await using server = await answering(
    {
      choices: [{ message: { content: null, audio }, finish_reason: 'tool_calls' }],
      usage: {
        prompt_tokens: 100,
        completion_tokens: 50,
        prompt_tokens_details: { audio_tokens: 90 },
        completion_tokens_details: { audio_tokens: 60 },
      },
    },
    { 'x-engine': 'small', 'x-engine-wanted': 'large' },
  )
  const changes = { audio: { voice: 'alloy', format: 'wav' } }
  const reply = await replyOf(server.url, changes, true)
  expect(reply).toEqual({
    choices: [
      {
        text: 'Well said',
        audio: { id: 'a1', data: 'QUJD', transcript: 'Well said', expiresAt: 1_900_000_000 },
        finishReason: 'stop',
      },
    ],
    usage: { inputTextTokens: 10, inputAudioTokens: 90, outputTextTokens: 0, outputAudioTokens: 50 },
    engine: { name: 'small', wanted: 'large' },
  })
  // Engine headers of a vendor are ignored.
  expect((await replyOf(server.url, changes)).engine).toBeUndefined()
})

test.each([
  ['no choices', { choices: [] }, 'unknown', undefined],
  ['nothing at all', {}, 'unknown', undefined],
  [
    'cut for length',
    { choices: [{ message: { content: null }, finish_reason: 'length' }] },
    'rejected',
    'output_length_exceeded',
  ],
  [
    'cut for content',
    { choices: [{ message: { content: '' }, finish_reason: 'content_filter' }] },
    'moderated',
    'content_policy_violation',
  ],
])('%s is a failure', async (_, body, kind, code) => {
  await using server = await answering(body)
  expect(await failureOf(replyOf(server.url))).toMatchObject({ kind, code })
})

const chunk = (choice: object) => `data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`

test('a stream is read chunk by chunk, ignoring other lines', async () => {
  await using server = await streaming(
    `: hello\r\n\r\n${chunk({ delta: { role: 'assistant' } })}${chunk({ delta: { content: 'Hé' } })}` +
      `${chunk({ index: 7, delta: { content: 'nobody' } })}data: nonsense\n\n${chunk({ delta: { content: 'llo' }, finish_reason: 'length' })}` +
      `data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}\n\ndata: [DONE]\n\n`,
  )
  expect(await chunksOf(server.url)).toEqual([
    { kind: 'text', index: 0, text: 'Hé' },
    { kind: 'text', index: 0, text: 'llo' },
    { kind: 'end', index: 0, finishReason: 'length' },
    {
      kind: 'usage',
      usage: { inputTextTokens: 3, inputAudioTokens: 0, outputTextTokens: 2, outputAudioTokens: 0 },
    },
  ])
})

test.each([
  ['without an end', chunk({ delta: { content: 'Hel' } }), 'unknown', undefined],
  ['with an end that says nothing', 'data: [DONE]\n\n', 'unknown', undefined],
  [
    'with a complaint',
    'data: {"error":{"code":"content_filter","message":"no"}}\n\n',
    'moderated',
    'content_policy_violation',
  ],
  [
    'cut for length before a word',
    chunk({ delta: {}, finish_reason: 'length' }),
    'rejected',
    'output_length_exceeded',
  ],
  [
    'cut for content before a word',
    chunk({ delta: {}, finish_reason: 'content_filter' }),
    'moderated',
    'content_policy_violation',
  ],
])('a stream %s is a failure', async (_, text, kind, code) => {
  await using server = await streaming(text)
  expect(await failureOf(chunksOf(server.url))).toMatchObject({ kind, code })
})
