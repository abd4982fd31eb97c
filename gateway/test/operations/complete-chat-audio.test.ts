/** Audio chat: `POST /v1/chat/completions` with an audio model. */
import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import { gzipSync } from 'node:zlib'

import type { ErrorCode } from '@kinora/contract/errors'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { readDurationMismatches } from '../../src/routing/duration-mismatch-store.ts'
import { askJson, errorBodyOf, expectProblem, type Answer } from '../kit/answers.ts'
import { allEventsIn, dataOf, eventsIn, nextOf } from '../kit/event-reader.ts'
import { createAccount, createKey, subscribe, type TestKey } from '../kit/factories.ts'
import { brokenInvariants } from '../kit/ledger.ts'
import { listenForTest } from '../kit/listen-for-test.ts'
import { encoded, wave, waveOf } from '../kit/sound.ts'
import { recordOf, startGateway } from '../kit/start-gateway.ts'
import { startVendorGateway, type VendorGateway } from '../kit/vendor-gateway.ts'

let gateway: VendorGateway
let key: TestKey
const second = wave(1)

beforeAll(async () => {
  gateway = await startVendorGateway()
  const accountId = await createAccount(gateway.database.postgres, { balance: 100_000 })
  key = await createKey(gateway.database.postgres, accountId)
})
afterAll(() => gateway[Symbol.asyncDispose]())

const model = 'chat-4o-audio-preview'
const text = (words: string) => ({ type: 'text', text: words })
const sound = (bytes: unknown, format: unknown = 'wav') => ({
  type: 'input_audio',
  input_audio: { data: Buffer.isBuffer(bytes) ? bytes.toString('base64') : bytes, format },
})
const bodyOf = (content: unknown, more: object = {}) => ({
  model,
  messages: [{ role: 'user', content }],
  ...more,
})
const spoken = { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'wav' } }

const complete = (body: unknown, { text: asked = key.text, url = gateway.url, headers = {} } = {}) =>
  askJson(`${url}/v1/chat/completions`, asked, body, headers)

const stream = (body: object, { text: asked = key.text, signal = AbortSignal.timeout(120_000) } = {}) =>
  fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${asked}`, 'content-type': 'application/json' },
    body: JSON.stringify({ stream: true, ...body }),
    signal,
  })

const lastRequest = () => {
  const last = gateway.vendor.turns().at(-1)
  if (last === undefined) throw new Error('the vendor has received no request')
  return last
}
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
const contentOf = ({ body }: Answer) =>
  (body as { choices: { message: { content: string } }[] }).choices[0]?.message.content

const customer = async (balance: number, traits: Parameters<typeof createKey>[2] = {}) => {
  const { postgres } = gateway.database
  const account = await createAccount(postgres, { balance })
  return { account, ...(await createKey(postgres, account, traits)) }
}
const subscriber = async (options: Parameters<typeof subscribe>[2] = {}) => {
  const who = await customer(0, { kind: 'subscription' })
  await subscribe(gateway.database.postgres, who.account, options)
  return who
}

const requestsOf = async (account: string) => {
  const { rows } = await gateway.database.postgres.query<Record<string, unknown>>(
    `select operation, model, provider, outcome, hold_micros as held, captured_micros as captured,
            charged_for as "chargedFor"
       from metered_requests where account_id = $1 order by created_at`,
    [account],
  )
  return rows
}
const spooledFiles = () => readdir(gateway.spool.directory)

const expectRefused = async (body: unknown, code: ErrorCode, param?: string, who = key) => {
  const before = await recordOf(gateway)
  const calls = gateway.vendor.turns().length
  const answer = await complete(body, who)
  expectProblem(answer, code, param)
  expect(await recordOf(gateway)).toEqual(before)
  expect(gateway.vendor.turns()).toHaveLength(calls)
  return answer
}

describe('200', () => {
  test('text in, text out, with the usage', async () => {
    const answer = await complete(bodyOf('How are you?'))
    expect(answer.body).toEqual({
      id: expect.stringMatching(/^chatcmpl-[0-9a-f-]{36}$/),
      object: 'chat.completion',
      created: expect.closeTo(Date.now() / 1000, -2),
      model,
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'You said: How are you?' },
          finish_reason: 'stop',
        },
      ],
      usage: {
        prompt_tokens: 7,
        completion_tokens: 6,
        total_tokens: 13,
        prompt_tokens_details: { text_tokens: 7, audio_tokens: 0 },
        completion_tokens_details: { text_tokens: 6, audio_tokens: 0 },
      },
    })
    expect(answer.headers.get('x-ignored-params')).toBeNull()
    expect(answer.headers.get('x-engine')).toBeNull()
  })

  test('a recording reaches the vendor unchanged, short or long, wav or mp3', async () => {
    const mp3 = await encoded(wave(3), 'out.mp3')
    const long = wave(120)
    for (const [bytes, format] of [
      [second, 'wav'],
      [mp3, 'mp3'],
      [long, 'wav'],
    ] as const) {
      const answer = await complete(bodyOf([text('What is this?'), sound(bytes, format)]))
      expect(contentOf(answer)).toBe(
        `You said: What is this? . I heard ${bytes.length} bytes of ${format} ${sha256(bytes).slice(0, 16)}`,
      )
      expect(answer.body['usage']).toMatchObject({
        prompt_tokens_details: { audio_tokens: Math.ceil(bytes.length / 3200) },
      })
    }
    expect(await spooledFiles()).toEqual([])
  })

  test('several recordings keep their order, with JSON escapes and base64url', async () => {
    const long = wave(60)
    const escaped = JSON.stringify(
      bodyOf([sound(second), text('then'), sound(long), sound(second)]),
    ).replaceAll('/', '\\/')
    expectReceived(await complete(escaped), [second, long, second])
    const otherAlphabet = bodyOf([sound(long.toString('base64url'))])
    expectReceived(await complete(otherAlphabet), [long])
  })
  const expectReceived = (answer: Answer, recordings: Buffer[]) => {
    expect(answer.status).toBe(200)
    expect(lastRequest().recordings.map((recording) => recording.sha256)).toEqual(recordings.map(sha256))
  }

  test.each(['wav', 'mp3', 'flac', 'opus', 'aac', 'pcm16'])(
    'an audio reply as %s, with its transcript',
    async (format) => {
      const answer = await complete(bodyOf('Say it', { ...spoken, audio: { voice: { id: 'nova' }, format } }))
      const { choices, usage } = answer.body as unknown as OpenAI.ChatCompletion
      const [choice] = choices
      expect(choice?.message.content).toBe('You said: Say it')
      const { audio } = choice?.message ?? {}
      expect(audio).toEqual({
        id: expect.stringMatching(/^audio_[\w-]+$/),
        expires_at: expect.closeTo(Date.now() / 1000 + 3600, -2),
        data: expect.any(String),
        transcript: 'You said: Say it',
      })
      const bytes = Buffer.from(audio?.data ?? '', 'base64')
      const head = bytes.toString('latin1', 0, 4)
      const heads: Record<string, string> = { wav: 'RIFF', flac: 'fLaC', opus: 'OggS' }
      if (heads[format] !== undefined) expect(head).toBe(heads[format])
      expect(bytes.length).toBeGreaterThan(1_000)
      expect(usage?.completion_tokens_details?.audio_tokens).toBe(40)
      expect(lastRequest().settings).toMatchObject({ audio: { voice: 'nova', format } })
    },
  )

  test('a message can refer to an earlier audio reply of its own account only', async () => {
    const first = await complete(bodyOf('Remember this', spoken))
    const { id } = (first.body as unknown as OpenAI.ChatCompletion).choices[0]?.message.audio ?? { id: '' }
    const later = {
      model,
      messages: [
        { role: 'user', content: 'Remember this' },
        { role: 'assistant', audio: { id } },
        { role: 'user', content: 'What was it?' },
      ],
    }
    expect(contentOf(await complete(later))).toBe(
      'You said: What was it?. I had said: You said: Remember this',
    )
    expect(lastRequest().messages[1]?.audioId).not.toBe(id)
    const stranger = await customer(100)
    await expectRefused(later, 'invalid_parameter', 'messages[1].audio.id', stranger)
    later.messages[1] = { role: 'assistant', audio: { id: lastRequest().messages[1]?.audioId ?? '' } }
    await expectRefused(later, 'invalid_parameter', 'messages[1].audio.id')
  })

  test('every role and every setting reaches the provider', async () => {
    const answer = await complete({
      model,
      messages: [
        { role: 'system', content: 'Be kind.' },
        { role: 'developer', content: [text('Be brief.')] },
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: 'Hi' },
        { role: 'user', content: [text('Well?')] },
      ],
      temperature: 1.5,
      top_p: 0.5,
      n: 2,
      max_tokens: 100,
      max_completion_tokens: 50,
      stop: ['.', '!'],
      seed: -7,
    })
    expect((answer.body as unknown as OpenAI.ChatCompletion).choices).toHaveLength(2)
    expect(lastRequest()).toMatchObject({
      model,
      settings: {
        temperature: 1.5,
        top_p: 0.5,
        n: 2,
        max_tokens: 50,
        stop: ['.', '!'],
        seed: -7,
        modalities: ['text'],
      },
      messages: [
        { role: 'system', text: 'Be kind.' },
        { role: 'developer', text: 'Be brief.' },
        { role: 'user' },
        { role: 'assistant' },
        { role: 'user' },
      ],
    })
    await complete(bodyOf('Hello'))
    expect(lastRequest().settings).toEqual({ max_tokens: 2048, modalities: ['text'] })
  })

  test('unknown parameters are ignored and listed', async () => {
    const answer = await complete(bodyOf('Hello', { user: 'me', tools: [], logit_bias: {} }))
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-ignored-params')).toBe('user, tools, logit_bias')
  })

  test('a truncated reply has the finish reason length', async () => {
    const answer = await complete(bodyOf('Hello vendor:length'))
    expect(answer.body).toMatchObject({ choices: [{ finish_reason: 'length' }] })
  })

  test('long texts and compressed bodies arrive complete', async () => {
    const long = 'Ein längerer Satz, wörtlich. '.repeat(4_000)
    expect((await complete(bodyOf(long))).status).toBe(200)
    expect(lastRequest().messages[0]?.text).toBe(long)
    const body = gzipSync(JSON.stringify(bodyOf([text('Listen'), sound(wave(60))])))
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key.text}`,
        'content-type': 'application/json',
        'content-encoding': 'gzip',
      },
      body,
    })
    expect(response.status).toBe(200)
    expect(lastRequest().recordings[0]?.sha256).toBe(sha256(wave(60)))
  })
})

describe('200, streamed', () => {
  const chunksOf = async (response: Response) => {
    const events = await allEventsIn(response.body)
    expect(events.pop()).toEqual({ data: '[DONE]' })
    return events.map((event) => dataOf(event) as OpenAI.ChatCompletionChunk)
  }

  test('the text in chunks, and the usage at the end', async () => {
    const response = await stream(bodyOf('How are you?', { stream_options: { include_usage: true } }))
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    const chunks = await chunksOf(response)
    const ids = new Set(chunks.map(({ id }) => id))
    expect([...ids]).toEqual([expect.stringMatching(/^chatcmpl-[0-9a-f-]{36}$/)])
    expect(chunks[0]?.choices).toEqual([
      { index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null },
    ])
    const deltas = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta.content ?? ''))
    expect(deltas.filter((delta) => delta !== '').length).toBeGreaterThan(2)
    expect(deltas.join('')).toBe('You said: How are you?')
    expect(chunks.at(-2)?.choices).toEqual([{ index: 0, delta: {}, finish_reason: 'stop' }])
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 7, completion_tokens: 6 } })
    expect(chunks.slice(0, -1).every(({ usage }) => usage === null)).toBe(true)
  })

  test('several replies with their indexes, without usage if it was not requested', async () => {
    const chunks = await chunksOf(await stream(bodyOf('Hello', { n: 2 })))
    for (const wanted of [0, 1]) {
      const own = chunks.flatMap(({ choices }) => choices.filter(({ index }) => index === wanted))
      expect(own.map(({ delta }) => delta.content ?? '').join('')).toBe('You said: Hello')
      expect(own.at(-1)?.finish_reason).toBe('stop')
    }
    expect(chunks.every((chunk) => !('usage' in chunk))).toBe(true)
  })

  test('with a recording in the request', async () => {
    const chunks = await chunksOf(await stream(bodyOf([text('Listen'), sound(wave(60))])))
    expect(chunks.length).toBeGreaterThan(3)
    expect(lastRequest().recordings[0]?.sha256).toBe(sha256(wave(60)))
    expect(await spooledFiles()).toEqual([])
  })

  test.each(['cut', 'break'])('a provider failure (%s): the error, the end and no charge', async (fault) => {
    const who = await customer(10)
    const response = await stream(bodyOf(`One two three vendor:${fault}`), who)
    const events = await allEventsIn(response.body)
    expect(events.at(-1)).toEqual({ data: '[DONE]' })
    const requestId = response.headers.get('x-request-id')
    expect(dataOf(events.at(-2) ?? {})).toEqual(errorBodyOf('upstream_error', { request_id: requestId }))
    expect(JSON.stringify(events)).not.toContain(new URL(gateway.vendor.url).host)
    expect(await requestsOf(who.account)).toMatchObject([{ outcome: 'failed', captured: 0 }])
  })

  test('a disconnected client pays for the output so far', async () => {
    const who = await customer(10)
    const disconnect = new AbortController()
    const words = 'many words '.repeat(200)
    const response = await stream(bodyOf(`${words} vendor:pace=20`), { ...who, signal: disconnect.signal })
    const events = eventsIn(response.body)
    for (let count = 0; count < 4; count += 1) await nextOf(events)
    disconnect.abort()
    await expect
      .poll(() => requestsOf(who.account))
      .toMatchObject([{ outcome: 'aborted', captured: expect.any(Number) }])
    const [{ captured, held, chargedFor }] = (await requestsOf(who.account)) as [
      { captured: number; held: number; chargedFor: { unit: string }[] },
    ]
    expect(chargedFor.map(({ unit }) => unit)).toEqual([
      'million_text_input_tokens',
      'million_text_output_tokens',
    ])
    expect(captured).toBeGreaterThan(0)
    expect(captured).toBeLessThan(held / 2)
    await expect.poll(() => lastRequest().state).toBe('abandoned')
  })
})

describe('money', () => {
  test('the maximum cost is held, and the usage is charged, with a price for each kind of token', async () => {
    const who = await customer(10)
    const bytes = wave(10)
    const answer = await complete(bodyOf([text('Say it'), sound(bytes)], { ...spoken, max_tokens: 100 }), who)
    const { usage } = answer.body as unknown as OpenAI.ChatCompletion
    const textIn = (usage?.prompt_tokens ?? 0) - 100
    const textOut = (usage?.completion_tokens ?? 0) - 40
    const charged = Math.ceil(textIn * 2.5) + 101 * 40 + textOut * 10 + 40 * 80
    expect(usage?.prompt_tokens_details?.audio_tokens).toBe(101)
    expect(await requestsOf(who.account)).toEqual([
      {
        operation: 'completeChat',
        model,
        provider: 'vendor',
        outcome: 'completed',
        // Six bytes of text, eight tokens for the message, ten seconds of audio and a hundred tokens of speech.
        held: 14 * 2.5 + 100 * 40 + 100 * 80,
        captured: charged - 3,
        chargedFor: [
          expect.objectContaining({ unit: 'million_text_input_tokens' }),
          expect.objectContaining({ unit: 'million_audio_input_tokens' }),
          expect.objectContaining({ unit: 'million_text_output_tokens' }),
          expect.objectContaining({ unit: 'million_audio_output_tokens' }),
        ],
      },
    ])
  })

  test('without usage from the provider, only certain tokens are charged', async () => {
    const who = await customer(10)
    const answer = await complete(bodyOf([text('Hello there, vendor:no-usage'), sound(second)]), who)
    expect(answer.body['usage']).toMatchObject({
      prompt_tokens_details: { text_tokens: 7, audio_tokens: 10 },
      completion_tokens_details: { audio_tokens: 0 },
    })
    const [{ captured }] = (await requestsOf(who.account)) as [{ captured: number }]
    const { completion_tokens: output = 0 } = answer.body['usage'] as { completion_tokens?: number }
    expect(output).toBeGreaterThan(10)
    expect(captured).toBe(Math.ceil(7 * 2.5) + 10 * 40 + output * 10)
  })

  test.each(['at once', 'streamed'])(
    'another duration in the usage of the vendor is counted: %s',
    async (how) => {
      const { postgres } = gateway.database
      const counted = async () => (await readDurationMismatches(postgres)).get('vendor') ?? 0
      // The vendor counts bytes, as if they were those of a WAV file.
      const listen = async (bytes: Buffer, format: string) => {
        const body = bodyOf([text('Listen'), sound(bytes, format)])
        const response = how === 'at once' ? await complete(body) : await stream(body)
        if (response instanceof Response) await response.text()
        expect(response.status).toBe(200)
      }
      await listen(wave(20), 'wav')
      const before = await counted()
      await listen(await encoded(wave(20), 'out.mp3'), 'mp3')
      await expect.poll(counted).toBe(before + 1)
      await listen(wave(20), 'wav')
      expect(await counted()).toBe(before + 1)
    },
  )

  test('the ledger is balanced after these tests', async () => {
    expect(await brokenInvariants(gateway.database.postgres)).toEqual([])
  })
})

describe('400 missing_parameter', () => {
  const message = (content: object) => ({ model, messages: [content] })
  test.each([
    ['no messages', { model }, 'messages'],
    ['an empty list', { model, messages: [] }, 'messages'],
    ['no content', message({ role: 'user' }), 'messages[0].content'],
    ['null', bodyOf(null), 'messages[0].content'],
    ['no parts', bodyOf([]), 'messages[0].content'],
    ['no audio in its part', bodyOf([{ type: 'input_audio' }]), 'messages[0].content[0].input_audio'],
    ['no data', bodyOf([sound('')]), 'messages[0].content[0].input_audio.data'],
    [
      'no format',
      bodyOf([{ type: 'input_audio', input_audio: { data: 'QUJD' } }]),
      'messages[0].content[0].input_audio.format',
    ],
    ['an audio reply without settings', bodyOf('Hi', { modalities: ['audio', 'text'] }), 'audio'],
    ['no voice', bodyOf('Hi', { ...spoken, audio: { format: 'wav' } }), 'audio.voice'],
    ['no format of the reply', bodyOf('Hi', { ...spoken, audio: { voice: 'alloy' } }), 'audio.format'],
  ])('%s', async (_, body, param) => {
    await expectRefused(body, 'missing_parameter', param)
  })
})

describe('400 invalid_parameter', () => {
  test.each([
    ['messages that are not a list', { model, messages: 'Hello' }, 'messages'],
    ['a message that is not an object', { model, messages: ['Hello'] }, 'messages[0]'],
    ['an unknown role', { model, messages: [{ role: 'tool', content: 'A' }] }, 'messages[0].role'],
    ['content that is neither text nor a list', bodyOf(7), 'messages[0].content'],
    ['a part of another type', bodyOf([{ type: 'image_url' }]), 'messages[0].content[0].type'],
    [
      'a recording in a system message',
      { model, messages: [{ role: 'system', content: [sound(second)] }] },
      'messages[0].content[0].type',
    ],
    ['a text that is not a string', bodyOf([{ type: 'text', text: 7 }]), 'messages[0].content[0].text'],
    ['an unpaired surrogate', bodyOf('A \ud83d'), 'messages[0].content'],
    ['an unpaired surrogate in a long text', bodyOf(`${'a'.repeat(70_000)}\ud83d`), 'messages[0].content'],
    ['a NUL character', bodyOf('A \0'), 'messages[0].content'],
    ['data that is not text', bodyOf([sound(7)]), 'messages[0].content[0].input_audio.data'],
    [
      'data that is not base64',
      bodyOf([text('A'), sound('not base64!')]),
      'messages[0].content[1].input_audio.data',
    ],
    [
      'long data that is not base64',
      bodyOf([sound(`${second.toString('base64').repeat(3)}*`)]),
      'messages[0].content[0].input_audio.data',
    ],
    [
      'an id that is not a string',
      { model, messages: [{ role: 'assistant', audio: { id: 7 } }] },
      'messages[0].audio.id',
    ],
    [
      'an unknown id',
      { model, messages: [{ role: 'assistant', audio: { id: 'audio_x' } }] },
      'messages[0].audio.id',
    ],
    ['a temperature above 2', bodyOf('A', { temperature: 2.1 }), 'temperature'],
    ['a temperature below 0', bodyOf('A', { temperature: -0.1 }), 'temperature'],
    ['top_p above one', bodyOf('A', { top_p: 1.1 }), 'top_p'],
    ['zero replies', bodyOf('A', { n: 0 }), 'n'],
    ['too many replies', bodyOf('A', { n: 129 }), 'n'],
    ['zero tokens', bodyOf('A', { max_tokens: 0 }), 'max_tokens'],
    ['too many tokens', bodyOf('A', { max_tokens: 16_385 }), 'max_tokens'],
    [
      'too many max_completion_tokens',
      bodyOf('A', { max_completion_tokens: 16_385 }),
      'max_completion_tokens',
    ],
    ['a fractional number of tokens', bodyOf('A', { max_tokens: 1.5 }), 'max_tokens'],
    ['a seed that is not a number', bodyOf('A', { seed: 'x' }), 'seed'],
    ['five stops', bodyOf('A', { stop: ['1', '2', '3', '4', '5'] }), 'stop'],
    ['an empty stop sequence', bodyOf('A', { stop: [''] }), 'stop'],
    ['a stop sequence that is too long', bodyOf('A', { stop: 'x'.repeat(70_000) }), 'stop'],
    ['an unknown modality', bodyOf('A', { modalities: ['smell'] }), 'modalities'],
    ['no modality', bodyOf('A', { modalities: [] }), 'modalities'],
    ['audio settings that are not an object', bodyOf('A', { audio: 'loud' }), 'audio'],
    [
      'an unknown format of the reply',
      bodyOf('A', { ...spoken, audio: { voice: 'alloy', format: 'midi' } }),
      'audio.format',
    ],
    [
      'a voice that is not a name',
      bodyOf('A', { ...spoken, audio: { voice: 7, format: 'wav' } }),
      'audio.voice',
    ],
    ['an audio reply in a stream', bodyOf('A', { ...spoken, stream: true }), 'stream'],
    ['stream that is not a boolean', bodyOf('A', { stream: 'perhaps' }), 'stream'],
    ['stream options that are not an object', bodyOf('A', { stream_options: 7 }), 'stream_options'],
    [
      'include_usage that is not a boolean',
      bodyOf('A', { stream_options: { include_usage: 'yes' } }),
      'stream_options.include_usage',
    ],
  ])('%s', async (_, body, param) => {
    await expectRefused(body, 'invalid_parameter', param)
  })

  test.each(['max_tokens', 'max_completion_tokens'])(
    'the error of %s names the limit of the model',
    async (param) => {
      const answer = await complete(bodyOf('A', { [param]: 0 }))
      expectProblem(answer, 'invalid_parameter', param)
      expect(answer.body['error']).toHaveProperty(
        'message',
        `'${param}' must be a whole number from 1 to 16384 (got 0).`,
      )
    },
  )

  test('a recording of more than 25 MB', async () => {
    const large = waveOf(Buffer.alloc(26_214_400 - 44 + 1))
    await expectRefused(
      bodyOf([sound(large)]),
      'invalid_parameter',
      'messages[0].content[0].input_audio.data',
    )
  })
})

describe('other 400s', () => {
  test('invalid_request: malformed JSON, also in a long text', async () => {
    const long = wave(60).toString('base64')
    await expectRefused('{"model":', 'invalid_request')
    await expectRefused(
      `{"model":"${model}","messages":[{"role":"user","content":"${long}\n"}]}`,
      'invalid_request',
    )
    await expectRefused(`{"model":"${model}","a":"${long}`, 'invalid_request')
    await expectRefused(`["${long}"]`, 'invalid_request')
    await expectRefused(bodyOf('A', { metadata: Array.from({ length: 1_001 }, () => 1) }), 'invalid_request')
  })

  test.each([
    ['an unknown format', sound(second, 'ogg'), 'format'],
    ['a format that is not text', sound(second, 7), 'format'],
    ['mp3 that is wav', sound(second, 'mp3'), 'data'],
    ['data that is not audio', sound(Buffer.from('this is not a recording, or is it?')), 'data'],
    ['long data that is not audio', sound(Buffer.alloc(200_000, 'x')), 'data'],
    ['a recording without samples', sound(waveOf(Buffer.alloc(0))), 'data'],
  ])('invalid_file_format: %s', async (_, part, place) => {
    await expectRefused(
      bodyOf([text('A'), part]),
      'invalid_file_format',
      `messages[0].content[1].input_audio.${place}`,
    )
    expect(await spooledFiles()).toEqual([])
  })

  test('voice_not_supported', async () => {
    for (const voice of ['Kore', 'Alloy', { id: 'nobody' }]) {
      const body = bodyOf('A', { ...spoken, audio: { voice, format: 'wav' } })
      await expectRefused(body, 'voice_not_supported', 'audio.voice')
    }
  })

  test("voice_not_supported: a voice that only the provider lacks, without the provider's list", async () => {
    const error = { code: 'invalid_value', param: 'audio.voice', message: "Use 'zelda' or 'link'." }
    await using vendor = await listenForTest((_, response) => {
      response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ error }))
    })
    await using other = await startVendorGateway({}, {}, { baseUrl: vendor.url }, gateway)
    const answer = await complete(bodyOf('Say it', spoken), { url: other.url })
    expectProblem(answer, 'voice_not_supported', 'audio.voice')
    expect(JSON.stringify(answer.body)).not.toMatch(/zelda|link/)
  })

  test('context_length_exceeded: text by tokens, audio by seconds, and both together', async () => {
    // 'word ' is one token, and the context has 128,000.
    const words = (count: number) => 'word '.repeat(count)
    expect((await complete(bodyOf(words(120_000)))).status).toBe(200)
    await expectRefused(bodyOf(words(130_000)), 'context_length_exceeded', 'messages')
    await expectRefused(bodyOf('x'.repeat(5_000_000)), 'context_length_exceeded', 'messages')
    // The fewest bytes per second that are accepted: a thousand samples of one byte.
    const hours = waveOf(Buffer.alloc(212 * 60 * 1_000))
    hours.writeUInt32LE(1_000, 24)
    hours.writeUInt32LE(1_000, 28)
    hours.writeUInt16LE(1, 32)
    hours.writeUInt16LE(8, 34)
    await expectRefused(bodyOf([text(words(2_000)), sound(hours)]), 'context_length_exceeded', 'messages')
    expect((await complete(bodyOf([text('Well?'), sound(hours)]))).status).toBe(200)
  })

  test('output_length_exceeded: a reply that stops at its limit without output, streamed and not', async () => {
    for (const more of [{}, { stream: true }]) {
      const who = await customer(10)
      expectProblem(await complete(bodyOf('A vendor:too-long', more), who), 'output_length_exceeded')
      expect(await requestsOf(who.account)).toMatchObject([{ outcome: 'failed', captured: 0 }])
    }
  })

  test.each(['moderated', 'filtered'])('content_policy_violation: %s, streamed and not', async (word) => {
    for (const more of [{}, { stream: true }]) {
      expectProblem(await complete(bodyOf(`A vendor:${word}`, more)), 'content_policy_violation')
    }
  })
})

describe('402', () => {
  test('insufficient_balance: the balance must cover the maximum cost', async () => {
    const who = await customer(0.1)
    // 2,048 tokens of text cost 0.02 USD; of speech, 0.16 USD.
    expect((await complete(bodyOf('Hello'), who)).status).toBe(200)
    const refused = await complete(bodyOf('Hello', spoken), who)
    expectProblem(refused, 'insufficient_balance')
    expect(refused.headers.get('x-should-retry')).toBe('false')
  })

  test('quota_exceeded', async () => {
    await expectRefused(bodyOf('Hello'), 'quota_exceeded', undefined, await subscriber({ quota: 0.001 }))
  })

  test('subscription_expired', async () => {
    const who = await subscriber({ endsAt: new Date(Date.now() - 1_000) })
    await expectRefused(bodyOf('Hello'), 'subscription_expired', undefined, who)
  })

  test('payment_failed', async () => {
    const who = await customer(0)
    await gateway.database.postgres.query(`update accounts set payment_state = 'failed' where id = $1`, [
      who.account,
    ])
    await expectRefused(bodyOf('Hello'), 'payment_failed', undefined, who)
  })
})

describe('403', () => {
  test('audio_requires_payg, before other errors, but not for text', async () => {
    const who = await subscriber()
    for (const body of [
      bodyOf([text('A'), sound('not base64!', 'ogg')]),
      bodyOf('A', { modalities: ['audio'] }),
      bodyOf('A', { audio: {} }),
      bodyOf('A', { ...spoken, stream: true, temperature: 7 }),
      { model, messages: [{ role: 'assistant', audio: { id: 'x' } }, 'nonsense'] },
    ]) {
      await expectRefused(body, 'audio_requires_payg', undefined, who)
    }
    expect((await complete(bodyOf('Only text'), who)).status).toBe(200)
    const broke = await subscriber({ quota: 0 })
    await expectRefused(bodyOf([sound(second)]), 'audio_requires_payg', undefined, broke)
  })

  test('model_access_denied comes before audio_requires_payg', async () => {
    const who = await customer(10, { models: ['vidB-2'] })
    await expectRefused(bodyOf([sound(second)]), 'model_access_denied', 'model', who)
  })
})

describe('404', () => {
  test('model_not_found, also for a long name', async () => {
    await expectRefused(bodyOf('A', { model: 'chat-5' }), 'model_not_found', 'model')
    await expectRefused(bodyOf('A', { model: 'x'.repeat(100_000) }), 'model_not_found', 'model')
  })
})

describe('413', () => {
  test('request_too_large: 88 MiB, with and without a Content-Length', async () => {
    const part = Buffer.alloc(1_048_576, 'A')
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const sending = httpRequest(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key.text}`, 'content-type': 'application/json' },
      })
      sending.on('error', reject).on('response', (response) => {
        resolve(response.statusCode)
        response.resume()
      })
      sending.write(`{"model":"${model}","a":"`)
      for (let count = 0; count < 89; count += 1) sending.write(part)
      sending.end('"}')
    })
    expect(status).toBe(413)
    expect(await spooledFiles()).toEqual([])
    const announced = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key.text}`, 'content-type': 'application/json' },
      body: Buffer.alloc(89 * 1_048_576, 'A'),
    })
    expect(announced.status).toBe(413)
  })
})

describe('provider failures', () => {
  test.each([
    ['500', 'upstream_error'],
    ['garbage', 'upstream_error'],
    ['reject', 'invalid_parameter'],
    ['reject=context_length_exceeded', 'context_length_exceeded'],
  ] as const)("%s is %s, without the provider's message, and not charged", async (word, code) => {
    const who = await customer(10)
    const answer = await complete(bodyOf(`A vendor:${word}`), who)
    expectProblem(answer, code, code === 'invalid_parameter' ? 'messages' : undefined)
    expect(JSON.stringify(answer.body)).not.toContain('vendor')
    expect(JSON.stringify(answer.body)).not.toContain(new URL(gateway.vendor.url).host)
    expect(await requestsOf(who.account)).toMatchObject([{ outcome: 'failed', captured: 0 }])
  })

  test('a missing audio reply is 502', async () => {
    expectProblem(await complete(bodyOf('A vendor:silent', spoken)), 'upstream_error')
  })

  test('model_overloaded, with Retry-After', async () => {
    const answer = await complete(bodyOf('A vendor:busy'))
    expectProblem(answer, 'model_overloaded')
    expect(answer.headers.get('retry-after')).toBe('7')
  })

  test('a disconnect in the middle of an upload leaves no file', async () => {
    const sending = httpRequest(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key.text}`, 'content-type': 'application/json' },
    })
    sending.on('error', () => undefined)
    sending.write(`{"model":"${model}","a":"${'A'.repeat(700_000)}`)
    await expect.poll(async () => (await spooledFiles()).length).toBe(1)
    sending.destroy()
    await expect.poll(spooledFiles).toEqual([])
  })

  test('an unreachable provider is 502', async () => {
    await using unreachable = await startGateway({ LOCAL_URL: 'http://127.0.0.1:9' }, gateway)
    expectProblem(await complete(bodyOf('A'), { url: unreachable.url }), 'upstream_error')
  })
})

describe('200, at the limits', () => {
  test.each([
    { temperature: 0 },
    { temperature: 2 },
    { top_p: 0 },
    { top_p: 1 },
    { n: 128 },
    { max_tokens: 1 },
    { max_tokens: 16_384 },
  ])('%j is accepted and reaches the provider', async (setting) => {
    expect((await complete(bodyOf('Hello', setting))).status).toBe(200)
    expect(lastRequest().settings).toMatchObject(setting)
  })

  test('n of 1 gives one reply', async () => {
    const { body } = await complete(bodyOf('Hello', { n: 1 }))
    expect(body['choices']).toHaveLength(1)
  })
})

describe('400 invalid_parameter, beyond the limits', () => {
  test.each([
    ['temperature', [-0.01, 2.01]],
    ['top_p', [-0.01, 1.01]],
    ['n', [0, 129]],
    ['max_tokens', [0, 16_385]],
  ])('%s', async (name, values) => {
    for (const value of values) await expectRefused(bodyOf('A', { [name]: value }), 'invalid_parameter', name)
  })
})

test('the official client library with audio input, audio output and streaming', async () => {
  const client = new OpenAI({ apiKey: key.text, baseURL: `${gateway.url}/openai/v1` })
  const completion = await client.chat.completions.create({
    model,
    modalities: ['text', 'audio'],
    audio: { voice: 'alloy', format: 'wav' },
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'input_audio', input_audio: { data: second.toString('base64'), format: 'wav' } },
        ],
      },
    ],
  })
  const message = completion.choices[0]?.message
  expect(message?.content).toContain(sha256(second).slice(0, 16))
  expect(Buffer.from(message?.audio?.data ?? '', 'base64').toString('latin1', 0, 4)).toBe('RIFF')
  expect(completion.usage?.prompt_tokens_details?.audio_tokens).toBe(11)

  const streamed = client.chat.completions.stream({
    model,
    messages: [{ role: 'user', content: 'How are you?' }],
    stream_options: { include_usage: true },
  })
  const final = await streamed.finalChatCompletion()
  expect(final.choices[0]?.message.content).toBe('You said: How are you?')
  expect(final.usage?.total_tokens).toBe(13)
  await expect(
    client.chat.completions.create({
      model,
      stream: true,
      modalities: ['audio'],
      audio: { voice: 'alloy', format: 'pcm16' },
      messages: [{ role: 'user', content: 'Hello' }],
    }),
  ).rejects.toMatchObject({ status: 400, code: 'invalid_parameter', param: 'stream' })
})
