/** `POST /v1/chat/completions` with a model that talks. */
import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

import type { ErrorCode } from '@kinora/contract/errors'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { auditLedger } from '../../src/billing/ledger/ledger-store.ts'
import { askJson, expectProblem, type Answer } from '../kit/answers.ts'
import { allEventsIn, dataOf, eventsIn, nextOf } from '../kit/event-reader.ts'
import { createAccount, createKey, subscribe, type TestKey } from '../kit/factories.ts'
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
const text = (said: string) => ({ type: 'text', text: said })
const sound = (bytes: unknown, format: unknown = 'wav') => ({
  type: 'input_audio',
  input_audio: { data: Buffer.isBuffer(bytes) ? bytes.toString('base64') : bytes, format },
})
const said = (content: unknown, more: object = {}) => ({
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

const lastTurn = () => {
  const turn = gateway.vendor.turns().at(-1)
  if (turn === undefined) throw new Error('the vendor was not asked')
  return turn
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
const spooledFiles = () => readdir(join(gateway.directory, 'media', 'spool'))

const expectRefused = async (body: unknown, code: ErrorCode, param?: string, who = key) => {
  const before = await recordOf(gateway)
  const asked = gateway.vendor.turns().length
  const answer = await complete(body, who)
  expectProblem(answer, code, param)
  expect(await recordOf(gateway)).toEqual(before)
  expect(gateway.vendor.turns()).toHaveLength(asked)
  return answer
}

describe('200', () => {
  test('text in, text out, with what was used', async () => {
    const answer = await complete(said('How are you?'))
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

  test('a recording is heard as it was sent, short or long, wav or mp3', async () => {
    const mp3 = await encoded(wave(3), 'out.mp3')
    const long = wave(120)
    for (const [bytes, format] of [
      [second, 'wav'],
      [mp3, 'mp3'],
      [long, 'wav'],
    ] as const) {
      const answer = await complete(said([text('What is this?'), sound(bytes, format)]))
      expect(contentOf(answer)).toBe(
        `You said: What is this? . I heard ${bytes.length} bytes of ${format} ${sha256(bytes).slice(0, 16)}`,
      )
      expect(answer.body['usage']).toMatchObject({
        prompt_tokens_details: { audio_tokens: Math.ceil(bytes.length / 3200) },
      })
    }
    expect(await spooledFiles()).toEqual([])
  })

  test('several recordings stay in their order among the texts, with escapes and the other alphabet', async () => {
    const long = wave(60)
    const escaped = JSON.stringify(
      said([sound(second), text('then'), sound(long), sound(second)]),
    ).replaceAll('/', '\\/')
    expectHeard(await complete(escaped), [second, long, second])
    const otherAlphabet = said([sound(long.toString('base64url'))])
    expectHeard(await complete(otherAlphabet), [long])
  })
  const expectHeard = (answer: Answer, recordings: Buffer[]) => {
    expect(answer.status).toBe(200)
    expect(lastTurn().recordings.map((recording) => recording.sha256)).toEqual(recordings.map(sha256))
  }

  test.each(['wav', 'mp3', 'flac', 'opus', 'aac', 'pcm16'])(
    'a spoken reply as %s, with its words',
    async (format) => {
      const answer = await complete(said('Say it', { ...spoken, audio: { voice: { id: 'nova' }, format } }))
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
      expect(lastTurn().settings).toMatchObject({ audio: { voice: 'nova', format } })
    },
  )

  test('an earlier spoken reply is named by its id, by its own account only', async () => {
    const first = await complete(said('Remember this', spoken))
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
    expect(lastTurn().messages[1]?.audioId).not.toBe(id)
    const stranger = await customer(100)
    await expectRefused(later, 'invalid_parameter', 'messages[1].audio.id', stranger)
    later.messages[1] = { role: 'assistant', audio: { id: lastTurn().messages[1]?.audioId ?? '' } }
    await expectRefused(later, 'invalid_parameter', 'messages[1].audio.id')
  })

  test('every role and every setting goes to the provider', async () => {
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
    expect(lastTurn()).toMatchObject({
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
    await complete(said('Hello'))
    expect(lastTurn().settings).toEqual({ max_tokens: 2048, modalities: ['text'] })
  })

  test('what it does not know is named and passed over', async () => {
    const answer = await complete(said('Hello', { user: 'me', tools: [], logit_bias: {} }))
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-ignored-params')).toBe('user, tools, logit_bias')
  })

  test('a reply that ran out of room says so', async () => {
    const answer = await complete(said('Hello vendor:length'))
    expect(answer.body).toMatchObject({ choices: [{ finish_reason: 'length' }] })
  })

  test('a long text is read back whole, and compressed bodies are read too', async () => {
    const long = 'Ein längerer Satz, wörtlich. '.repeat(4_000)
    expect((await complete(said(long))).status).toBe(200)
    expect(lastTurn().messages[0]?.text).toBe(long)
    const body = gzipSync(JSON.stringify(said([text('Listen'), sound(wave(60))])))
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
    expect(lastTurn().recordings[0]?.sha256).toBe(sha256(wave(60)))
  })
})

describe('200, streamed', () => {
  const chunksOf = async (response: Response) => {
    const events = await allEventsIn(response.body)
    expect(events.pop()).toEqual({ data: '[DONE]' })
    return events.map((event) => dataOf(event) as OpenAI.ChatCompletionChunk)
  }

  test('the text as it is made, and at its end what was used', async () => {
    const response = await stream(said('How are you?', { stream_options: { include_usage: true } }))
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

  test('several replies, each under its number, and no word of usage where nobody asked', async () => {
    const chunks = await chunksOf(await stream(said('Hello', { n: 2 })))
    for (const wanted of [0, 1]) {
      const own = chunks.flatMap(({ choices }) => choices.filter(({ index }) => index === wanted))
      expect(own.map(({ delta }) => delta.content ?? '').join('')).toBe('You said: Hello')
      expect(own.at(-1)?.finish_reason).toBe('stop')
    }
    expect(chunks.every((chunk) => !('usage' in chunk))).toBe(true)
  })

  test('a recording may be asked about as well', async () => {
    const chunks = await chunksOf(await stream(said([text('Listen'), sound(wave(60))])))
    expect(chunks.length).toBeGreaterThan(3)
    expect(lastTurn().recordings[0]?.sha256).toBe(sha256(wave(60)))
    expect(await spooledFiles()).toEqual([])
  })

  test.each(['cut', 'break'])(
    'a provider that breaks off (%s): the error, the end, and no charge',
    async (fault) => {
      const who = await customer(10)
      const events = await allEventsIn((await stream(said(`One two three vendor:${fault}`), who)).body)
      expect(events.at(-1)).toEqual({ data: '[DONE]' })
      expect(dataOf(events.at(-2) ?? {})).toEqual({
        error: { message: expect.any(String), type: 'server_error', code: 'upstream_error' },
      })
      expect(JSON.stringify(events)).not.toContain('127.0.0.1')
      expect(await requestsOf(who.account)).toMatchObject([{ outcome: 'failed', captured: 0 }])
    },
  )

  test('a caller who leaves pays for what was said until then', async () => {
    const who = await customer(10)
    const leaving = new AbortController()
    const words = 'many words '.repeat(200)
    const response = await stream(said(`${words} vendor:pace=20`), { ...who, signal: leaving.signal })
    const events = eventsIn(response.body)
    for (let count = 0; count < 4; count += 1) await nextOf(events)
    leaving.abort()
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
    await expect.poll(() => lastTurn().state).toBe('abandoned')
  })
})

describe('money', () => {
  test('the most it can cost is held, what was used is charged, each kind of token at its price', async () => {
    const who = await customer(10)
    const bytes = wave(10)
    const answer = await complete(said([text('Say it'), sound(bytes)], { ...spoken, max_tokens: 100 }), who)
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
        // Six bytes of text and eight for the message, ten seconds of sound, a hundred tokens of speech.
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

  test('where the provider does not count, we count what is certain', async () => {
    const who = await customer(10)
    const answer = await complete(said([text('Hello there, vendor:no-usage'), sound(second)]), who)
    expect(answer.body['usage']).toMatchObject({
      prompt_tokens_details: { text_tokens: 7, audio_tokens: 10 },
      completion_tokens_details: { audio_tokens: 0 },
    })
    const [{ captured }] = (await requestsOf(who.account)) as [{ captured: number }]
    const { completion_tokens: output = 0 } = answer.body['usage'] as { completion_tokens?: number }
    expect(output).toBeGreaterThan(10)
    expect(captured).toBe(Math.ceil(7 * 2.5) + 10 * 40 + output * 10)
  })

  test('the books balance after all of this', async () => {
    expect(await auditLedger(gateway.database.postgres)).toMatchObject({ sumMicros: 0, driftedBalances: 0 })
  })
})

describe('400 missing_parameter', () => {
  const message = (content: object) => ({ model, messages: [content] })
  test.each([
    ['no messages', { model }, 'messages'],
    ['an empty list', { model, messages: [] }, 'messages'],
    ['no content', message({ role: 'user' }), 'messages[0].content'],
    ['null', said(null), 'messages[0].content'],
    ['no parts', said([]), 'messages[0].content'],
    ['no sound in its part', said([{ type: 'input_audio' }]), 'messages[0].content[0].input_audio'],
    ['no data', said([sound('')]), 'messages[0].content[0].input_audio.data'],
    [
      'no format',
      said([{ type: 'input_audio', input_audio: { data: 'QUJD' } }]),
      'messages[0].content[0].input_audio.format',
    ],
    ['speech without its settings', said('Hi', { modalities: ['audio', 'text'] }), 'audio'],
    ['no voice', said('Hi', { ...spoken, audio: { format: 'wav' } }), 'audio.voice'],
    ['no format of the reply', said('Hi', { ...spoken, audio: { voice: 'alloy' } }), 'audio.format'],
  ])('%s', async (_, body, param) => {
    await expectRefused(body, 'missing_parameter', param)
  })
})

describe('400 invalid_parameter', () => {
  test.each([
    ['messages that are no list', { model, messages: 'Hello' }, 'messages'],
    ['a message that is no object', { model, messages: ['Hello'] }, 'messages[0]'],
    ['an unknown role', { model, messages: [{ role: 'tool', content: 'A' }] }, 'messages[0].role'],
    ['a content that is none', said(7), 'messages[0].content'],
    ['a part of another type', said([{ type: 'image_url' }]), 'messages[0].content[0].type'],
    [
      'a recording of the system',
      { model, messages: [{ role: 'system', content: [sound(second)] }] },
      'messages[0].content[0].type',
    ],
    ['a text that is none', said([{ type: 'text', text: 7 }]), 'messages[0].content[0].text'],
    ['half a character', said('A \ud83d'), 'messages[0].content'],
    ['half a character in a long text', said(`${'a'.repeat(70_000)}\ud83d`), 'messages[0].content'],
    ['a zero byte', said('A \0'), 'messages[0].content'],
    ['data that is no text', said([sound(7)]), 'messages[0].content[0].input_audio.data'],
    ['no base64', said([text('A'), sound('not base64!')]), 'messages[0].content[1].input_audio.data'],
    [
      'no base64, at length',
      said([sound(`${second.toString('base64').repeat(3)}*`)]),
      'messages[0].content[0].input_audio.data',
    ],
    [
      'an id that is none',
      { model, messages: [{ role: 'assistant', audio: { id: 7 } }] },
      'messages[0].audio.id',
    ],
    [
      'an id of nobody',
      { model, messages: [{ role: 'assistant', audio: { id: 'audio_x' } }] },
      'messages[0].audio.id',
    ],
    ['too hot', said('A', { temperature: 2.1 }), 'temperature'],
    ['too cold', said('A', { temperature: -0.1 }), 'temperature'],
    ['top_p above one', said('A', { top_p: 1.1 }), 'top_p'],
    ['no reply', said('A', { n: 0 }), 'n'],
    ['too many replies', said('A', { n: 129 }), 'n'],
    ['no tokens', said('A', { max_tokens: 0 }), 'max_tokens'],
    ['too many tokens', said('A', { max_tokens: 16_385 }), 'max_tokens'],
    [
      'too many tokens by the other name',
      said('A', { max_completion_tokens: 16_385 }),
      'max_completion_tokens',
    ],
    ['half a token', said('A', { max_tokens: 1.5 }), 'max_tokens'],
    ['a seed that is none', said('A', { seed: 'x' }), 'seed'],
    ['five stops', said('A', { stop: ['1', '2', '3', '4', '5'] }), 'stop'],
    ['a stop that is none', said('A', { stop: [''] }), 'stop'],
    ['a stop as long as a book', said('A', { stop: 'x'.repeat(70_000) }), 'stop'],
    ['an unknown modality', said('A', { modalities: ['smell'] }), 'modalities'],
    ['no modality', said('A', { modalities: [] }), 'modalities'],
    ['settings of speech that are none', said('A', { audio: 'loud' }), 'audio'],
    [
      'an unknown format of the reply',
      said('A', { ...spoken, audio: { voice: 'alloy', format: 'midi' } }),
      'audio.format',
    ],
    ['a voice that is no name', said('A', { ...spoken, audio: { voice: 7, format: 'wav' } }), 'audio.voice'],
    ['a spoken reply in a stream', said('A', { ...spoken, stream: true }), 'stream'],
    ['stream that is neither', said('A', { stream: 'perhaps' }), 'stream'],
    ['options of a stream that are none', said('A', { stream_options: 7 }), 'stream_options'],
    [
      'usage that is neither',
      said('A', { stream_options: { include_usage: 'yes' } }),
      'stream_options.include_usage',
    ],
  ])('%s', async (_, body, param) => {
    await expectRefused(body, 'invalid_parameter', param)
  })

  test.each(['max_tokens', 'max_completion_tokens'])('%s quotes the limit of the model', async (param) => {
    const answer = await complete(said('A', { [param]: 0 }))
    expectProblem(answer, 'invalid_parameter', param)
    expect(answer.body['error']).toHaveProperty(
      'message',
      `'${param}' must be a whole number from 1 to 16384 (got 0).`,
    )
  })

  test('a recording of more than 25 MB', async () => {
    const large = waveOf(Buffer.alloc(26_214_400 - 44 + 1))
    await expectRefused(said([sound(large)]), 'invalid_parameter', 'messages[0].content[0].input_audio.data')
  })
})

describe('other 400s', () => {
  test('invalid_request: what is no JSON, in a long text too', async () => {
    const long = wave(60).toString('base64')
    await expectRefused('{"model":', 'invalid_request')
    await expectRefused(
      `{"model":"${model}","messages":[{"role":"user","content":"${long}\n"}]}`,
      'invalid_request',
    )
    await expectRefused(`{"model":"${model}","a":"${long}`, 'invalid_request')
    await expectRefused(`["${long}"]`, 'invalid_request')
    await expectRefused(said('A', { metadata: Array.from({ length: 1_001 }, () => 1) }), 'invalid_request')
  })

  test.each([
    ['a format that is none', sound(second, 'ogg'), 'format'],
    ['a format that is no text', sound(second, 7), 'format'],
    ['mp3 that is wav', sound(second, 'mp3'), 'data'],
    ['nothing that is sound', sound(Buffer.from('this is not a recording, or is it?')), 'data'],
    ['a long text that is no sound', sound(Buffer.alloc(200_000, 'x')), 'data'],
    ['a recording without any sound', sound(waveOf(Buffer.alloc(0))), 'data'],
  ])('invalid_file_format: %s', async (_, part, place) => {
    await expectRefused(
      said([text('A'), part]),
      'invalid_file_format',
      `messages[0].content[1].input_audio.${place}`,
    )
    expect(await spooledFiles()).toEqual([])
  })

  test('voice_not_supported', async () => {
    for (const voice of ['Kore', 'Alloy', { id: 'nobody' }]) {
      const body = said('A', { ...spoken, audio: { voice, format: 'wav' } })
      await expectRefused(body, 'voice_not_supported', 'audio.voice')
    }
  })

  test('context_length_exceeded: text by its tokens, sound by its seconds, and both together', async () => {
    // Four letters and a space are a token: 128,000 of them fit.
    const words = (count: number) => 'word '.repeat(count)
    expect((await complete(said(words(120_000)))).status).toBe(200)
    await expectRefused(said(words(130_000)), 'context_length_exceeded', 'messages')
    await expectRefused(said('x'.repeat(5_000_000)), 'context_length_exceeded', 'messages')
    const minute = await encoded(wave(60), 'out.mp3', [
      ...['-b:a', '8k', '-ar', '8000', '-write_xing', '0', '-id3v2_version', '0'],
    ])
    const hours = Buffer.concat(Array.from({ length: 212 }, () => minute))
    await expectRefused(
      said([text(words(2_000)), sound(hours, 'mp3')]),
      'context_length_exceeded',
      'messages',
    )
    expect((await complete(said([text('Well?'), sound(hours, 'mp3')]))).status).toBe(200)
  })

  test('output_length_exceeded: stopped for its length with nothing said, streamed and not', async () => {
    for (const more of [{}, { stream: true }]) {
      const who = await customer(10)
      expectProblem(await complete(said('A vendor:too-long', more), who), 'output_length_exceeded')
      expect(await requestsOf(who.account)).toMatchObject([{ outcome: 'failed', captured: 0 }])
    }
  })

  test.each(['moderated', 'filtered'])('content_policy_violation: %s, streamed and not', async (word) => {
    for (const more of [{}, { stream: true }]) {
      expectProblem(await complete(said(`A vendor:${word}`, more)), 'content_policy_violation')
    }
  })
})

describe('402', () => {
  test('insufficient_balance: the most it can cost must be there', async () => {
    const who = await customer(0.1)
    // 2,048 tokens of text cost two hundredths of a unit; of speech sixteen.
    expect((await complete(said('Hello'), who)).status).toBe(200)
    const refused = await complete(said('Hello', spoken), who)
    expectProblem(refused, 'insufficient_balance')
    expect(refused.headers.get('x-should-retry')).toBe('false')
  })

  test('quota_exceeded', async () => {
    await expectRefused(said('Hello'), 'quota_exceeded', undefined, await subscriber({ quota: 0.001 }))
  })

  test('subscription_expired', async () => {
    const who = await subscriber({ endsAt: new Date(Date.now() - 1_000) })
    await expectRefused(said('Hello'), 'subscription_expired', undefined, who)
  })

  test('payment_failed', async () => {
    const who = await customer(0)
    await gateway.database.postgres.query(`update accounts set payment_state = 'failed' where id = $1`, [
      who.account,
    ])
    await expectRefused(said('Hello'), 'payment_failed', undefined, who)
  })
})

describe('403', () => {
  test('audio_requires_payg, whatever else is wrong, but not for text', async () => {
    const who = await subscriber()
    for (const body of [
      said([text('A'), sound('not base64!', 'ogg')]),
      said('A', { modalities: ['audio'] }),
      said('A', { audio: {} }),
      said('A', { ...spoken, stream: true, temperature: 7 }),
      { model, messages: [{ role: 'assistant', audio: { id: 'x' } }, 'nonsense'] },
    ]) {
      await expectRefused(body, 'audio_requires_payg', undefined, who)
    }
    expect((await complete(said('Only text'), who)).status).toBe(200)
    const broke = await subscriber({ quota: 0 })
    await expectRefused(said([sound(second)]), 'audio_requires_payg', undefined, broke)
  })

  test('model_access_denied comes before that', async () => {
    const who = await customer(10, { models: ['vidB-2'] })
    await expectRefused(said([sound(second)]), 'model_access_denied', 'model', who)
  })
})

describe('404', () => {
  test('model_not_found, by a long name too', async () => {
    await expectRefused(said('A', { model: 'chat-5' }), 'model_not_found', 'model')
    await expectRefused(said('A', { model: 'x'.repeat(100_000) }), 'model_not_found', 'model')
  })
})

describe('413', () => {
  test('request_too_large: 88 MiB, announced or not', async () => {
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

describe('what a provider does wrong', () => {
  test.each([
    ['500', 'upstream_error'],
    ['garbage', 'upstream_error'],
    ['reject', 'invalid_parameter'],
    ['reject=context_length_exceeded', 'context_length_exceeded'],
  ] as const)('%s is %s, without a word of its own, and not charged', async (word, code) => {
    const who = await customer(10)
    const answer = await complete(said(`A vendor:${word}`), who)
    expectProblem(answer, code, code === 'invalid_parameter' ? 'messages' : undefined)
    expect(JSON.stringify(answer.body)).not.toMatch(/vendor|127\.0\.0\.1/)
    expect(await requestsOf(who.account)).toMatchObject([{ outcome: 'failed', captured: 0 }])
  })

  test('no sound where sound was asked for is 502', async () => {
    expectProblem(await complete(said('A vendor:silent', spoken)), 'upstream_error')
  })

  test('model_overloaded, with the time to come back', async () => {
    const answer = await complete(said('A vendor:busy'))
    expectProblem(answer, 'model_overloaded')
    expect(answer.headers.get('retry-after')).toBe('7')
  })

  test('a sender who goes away in the middle of a long text leaves nothing behind', async () => {
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

  test('a provider that is away is 502', async () => {
    await using lost = await startGateway({ LOCAL_URL: 'http://127.0.0.1:9' }, gateway)
    expectProblem(await complete(said('A'), { url: lost.url }), 'upstream_error')
  })
})

describe('200, at the edges', () => {
  test.each([
    { temperature: 0 },
    { temperature: 2 },
    { top_p: 0 },
    { top_p: 1 },
    { n: 128 },
    { max_tokens: 1 },
    { max_tokens: 16_384 },
  ])('%j is taken and goes to the provider', async (setting) => {
    expect((await complete(said('Hello', setting))).status).toBe(200)
    expect(lastTurn().settings).toMatchObject(setting)
  })

  test('one reply is what n of 1 gives', async () => {
    const { body } = await complete(said('Hello', { n: 1 }))
    expect(body['choices']).toHaveLength(1)
  })
})

describe('400 invalid_parameter, just beyond the edges', () => {
  test.each([
    ['temperature', [-0.01, 2.01]],
    ['top_p', [-0.01, 1.01]],
    ['n', [0, 129]],
    ['max_tokens', [0, 16_385]],
  ])('%s', async (name, values) => {
    for (const value of values) await expectRefused(said('A', { [name]: value }), 'invalid_parameter', name)
  })
})

test('the official client library talks, listens and streams', async () => {
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
