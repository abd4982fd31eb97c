import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

import type { ErrorCode } from '@kinora/contract/errors'
import OpenAI, { toFile } from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'

import { ask, askJson, errorBodyOf, expectProblem, type Answer } from '../kit/answers.ts'
import { allEventsIn, dataOf, eventsIn, nextOf } from '../kit/event-reader.ts'
import { createAccount, createKey, subscribe, type TestKey } from '../kit/factories.ts'
import { brokenInvariants } from '../kit/ledger.ts'
import { audioForm, encoded, wave, waveOf } from '../kit/sound.ts'
import { createSpender, meteredRequestsOf, paygBalanceOf, type Traits } from '../kit/spender.ts'
import { recordOf, startGateway } from '../kit/start-gateway.ts'
import { readSrt, readVtt } from '../kit/subtitles.ts'
import { startVendorGateway, vendorKey, type VendorGateway } from '../kit/vendor-gateway.ts'

let gateway: VendorGateway
let accountId: string
let key: TestKey

beforeAll(async () => {
  gateway = await startVendorGateway({ AUDIO_SECONDS_MAX: '900' })
  accountId = await createAccount(gateway.database.postgres, { balance: 100_000 })
  key = await createKey(gateway.database.postgres, accountId)
})
afterAll(() => gateway[Symbol.asyncDispose]())

type Given = Record<string, string | string[]>
type RequestBody = NonNullable<RequestInit['body']>

const fileBytesMax = 26_214_400
/** Long enough for all segments of the simulated vendor. */
const sound = wave(5)
const text = `vendor transcript of ${sound.length} bytes`

const post = (
  body: RequestBody,
  {
    text: keyText = key.text,
    url = gateway.url,
    headers = {},
    signal = AbortSignal.timeout(120_000),
  }: { text?: string; url?: string; headers?: Record<string, string>; signal?: AbortSignal } = {},
) =>
  fetch(`${url}/v1/audio/transcriptions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${keyText}`, ...headers },
    body,
    signal,
  })
const transcribe = (fields: Given, given: Parameters<typeof post>[1] = {}) =>
  post(audioForm(sound, { model: 'asr-1', ...fields }), given)
const send = (body: RequestBody, { text: keyText = key.text, url = gateway.url, headers = {} } = {}) =>
  ask(`${url}/v1/audio/transcriptions`, keyText, { method: 'POST', body, headers })
const sendFields = (fields: Given, given: Parameters<typeof send>[1] = {}) =>
  send(audioForm(sound, { model: 'asr-1', ...fields }), given)

const lastRequest = () => {
  const last = gateway.vendor.transcriptions().at(-1)
  if (last === undefined) throw new Error('the vendor has received no request')
  return last
}

const spender = (balance: number, traits?: Traits) =>
  createSpender(gateway.database.postgres, balance, traits)
const requestsOf = (account: string) => meteredRequestsOf(gateway.database.postgres, account)
const balanceOf = (account: string) => paygBalanceOf(gateway.database.postgres, account)

/** Expects exactly this error, no changes in the database or in storage, and no request to the vendor. */
const expectRefused = async (attempt: () => Promise<Answer>, code: ErrorCode, param?: string) => {
  const before = await recordOf(gateway)
  const calls = gateway.vendor.transcriptions().length
  const answer = await attempt()
  expectProblem(answer, code, param)
  expect(await recordOf(gateway)).toEqual(before)
  expect(gateway.vendor.transcriptions()).toHaveLength(calls)
  return answer
}

const listen = async (answer: Parameters<typeof createServer>[1]) => {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen({ host: '127.0.0.1', port: 0 }, resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

describe('200', () => {
  test('the default format is json, and the vendor gets the file unchanged', async () => {
    const answer = await sendFields({})
    expect(answer.body).toEqual({ text })
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(lastRequest()).toEqual({
      task: 'transcribe',
      fields: { model: ['asr-1'], temperature: ['0'], response_format: ['json'] },
      filename: 'audio.wav',
      contentType: 'audio/wav',
      sizeBytes: sound.length,
      sha256: createHash('sha256').update(sound).digest('hex'),
      state: 'finished',
    })
  })

  test('every parameter reaches the vendor', async () => {
    await sendFields({ language: 'PT-br', prompt: 'Kinora, not Kinoa', temperature: '0.4' })
    expect(lastRequest().fields).toMatchObject({
      language: ['pt'],
      prompt: ['Kinora, not Kinoa'],
      temperature: ['0.4'],
    })
  })

  test.each([
    ['flac', 'audio/flac', []],
    ['mp3', 'audio/mpeg', []],
    ['mp4', 'audio/mp4', ['-c:a', 'aac']],
    ['m4a', 'audio/mp4', []],
    ['ogg', 'audio/ogg', []],
    ['wav', 'audio/wav', []],
    ['webm', 'audio/webm', []],
  ])(
    '%s is detected by its content, regardless of the file name',
    async (extension, contentType, parameters) => {
      const bytes = await encoded(sound, `out.${extension}`, parameters)
      for (const name of ['notes.txt', 'no-extension', `mis.${extension === 'mp3' ? 'wav' : 'mp3'}`]) {
        const answer = await send(audioForm(bytes, { model: 'asr-1' }, name))
        expect(answer.body).toEqual({ text: `vendor transcript of ${bytes.length} bytes` })
        expect(lastRequest()).toMatchObject({ filename: `audio.${extension}`, contentType })
      }
    },
  )

  test('text is the transcript and a newline', async () => {
    const response = await transcribe({ response_format: 'text' })
    expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8')
    expect(await response.text()).toBe(`${text}\n`)
  })

  const cues = [
    { startMs: 0, endMs: 1500, text: 'vendor transcript' },
    { startMs: 1500, endMs: 3000, text: `of ${sound.length}` },
    { startMs: 3000, endMs: 4500, text: 'bytes' },
  ]
  test.each([
    ['srt', readSrt],
    ['vtt', readVtt],
  ])('%s contains the timestamps', async (format, read) => {
    const response = await transcribe({ response_format: format })
    expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8')
    expect(response.headers.get('content-disposition')).toBe(`inline; filename="transcript.${format}"`)
    expect(read(await response.text())).toEqual(cues)
    expect(lastRequest().fields).toMatchObject({ response_format: ['verbose_json'] })
  })

  test.each([
    ['srt', readSrt],
    ['vtt', readVtt],
  ])(
    '%s is well-formed and within the recording, whatever timestamps a vendor returns',
    async (format, read) => {
      const response = await transcribe({ response_format: format, prompt: 'vendor:odd-times' })
      const arrow = format === 'srt' ? '->' : '-->'
      expect(read(await response.text())).toEqual([
        { startMs: 0, endMs: 1001, text: 'before the start' },
        {
          startMs: 1001,
          endMs: 1200,
          text: `over the one before ${arrow} with <b>marks</b> & more no time at all backwards`,
        },
        { startMs: 1400, endMs: 5000, text: 'past the end long after it' },
      ])
    },
  )

  const segment = (id: number, start: number, end: number, words: string) => ({
    ...{ id, start, end, text: words, tokens: [50_364, 1000 + id], temperature: 0 },
    ...{ avg_logprob: -0.25, compression_ratio: 1.125, no_speech_prob: 0.0625 },
  })
  const segments = [
    segment(0, 0, 1.5, ' vendor transcript'),
    segment(1, 1.5, 3, ` of ${sound.length}`),
    segment(2, 3, 4.5, ' bytes'),
  ]
  const verbose = { task: 'transcribe', language: 'english', duration: 5, text, segments }

  test('verbose_json has exactly the fields of the reference', async () => {
    const answer = await sendFields({ response_format: 'verbose_json' })
    expect(answer.body).toEqual(verbose)
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
  })

  test('timestamps in verbose_json are within the recording', async () => {
    const { body } = await sendFields({ response_format: 'verbose_json', prompt: 'vendor:odd-times' })
    const times = (body['segments'] as { start: number; end: number }[]).flatMap(({ start, end }) => [
      start,
      end,
    ])
    // The vendor sends times before the start and after the end.
    expect([Math.min(...times), Math.max(...times)]).toEqual([0, 5])
  })

  test.each([
    ['de', 'german'],
    ['Haitian-Creole', 'haitian-creole'],
    ['zh-CN', 'chinese'],
  ])('the vendor language %s becomes %s', async (language, name) => {
    const { body } = await sendFields({
      response_format: 'verbose_json',
      prompt: `vendor:language=${language}`,
    })
    expect(body['language']).toBe(name)
  })

  test('word timestamps on request', async () => {
    const { body } = await sendFields({
      response_format: 'verbose_json',
      'timestamp_granularities[]': ['word', 'segment'],
    })
    expect(body).toEqual({
      ...verbose,
      words: [
        { word: 'vendor', start: 0, end: 0.75 },
        { word: 'transcript', start: 0.75, end: 1.5 },
        { word: 'of', start: 1.5, end: 2.25 },
        { word: String(sound.length), start: 2.25, end: 3 },
        { word: 'bytes', start: 3, end: 4.5 },
      ],
    })
    const segmentsOnly = { response_format: 'verbose_json', 'timestamp_granularities[]': 'segment' }
    expect((await sendFields(segmentsOnly)).body).toEqual(verbose)
  })

  test('the openai dialect adds its own fields', async () => {
    const usage = { type: 'duration', seconds: 5 }
    const headers = { 'x-api-dialect': 'openai' }
    expect((await sendFields({}, { headers })).body).toEqual({ text, usage })
    expect((await sendFields({ response_format: 'verbose_json' }, { headers })).body).toEqual({
      ...verbose,
      segments: segments.map((each) => ({ ...each, seek: each.id * 150 })),
      usage,
    })
  })

  test.each(['chat-4o-transcribe', 'chat-4o-mini-transcribe'])(
    '%s responds with JSON for any requested format',
    async (model) => {
      for (const format of ['text', 'srt', 'vtt', 'verbose_json']) {
        const answer = await sendFields({ model, response_format: format })
        expect(answer.body).toEqual({ text })
        expect(answer.headers.get('x-ignored-params')).toBe('response_format')
      }
      const plain = await sendFields({ model, response_format: 'json' })
      expect(plain.headers.get('x-ignored-params')).toBeNull()
      const words = await sendFields({
        model,
        response_format: 'verbose_json',
        'timestamp_granularities[]': 'word',
      })
      expect(words.headers.get('x-ignored-params')).toBe('response_format, timestamp_granularities[]')
    },
  )

  test('unknown parameters are ignored and listed, and empty ones count as absent', async () => {
    const answer = await sendFields({ language: '', prompt: '', temperature: '', include: 'logprobs' })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-ignored-params')).toBe('include')
  })

  test('a file of exactly 25 MB', async () => {
    const bytes = waveOf(Buffer.alloc(fileBytesMax - 44))
    const answer = await send(audioForm(bytes, { model: 'asr-1' }))
    expect(answer.body).toEqual({ text: `vendor transcript of ${fileBytesMax} bytes` })
  })

  test('a fallback engine is named in the headers', async () => {
    await using local = await listen((request, response) => {
      request.resume().on('end', () => {
        response.writeHead(200, {
          'content-type': 'application/json',
          'x-engine': 'moonshine-tiny',
          'x-engine-wanted': 'whisper-small',
        })
        response.end(JSON.stringify({ text: 'by our own' }))
      })
    })
    await using own = await startGateway({ LOCAL_URL: local.url }, gateway)
    const answer = await sendFields({}, { url: own.url })
    expect(answer.body).toEqual({ text: 'by our own' })
    expect(answer.headers.get('x-engine')).toBe('moonshine-tiny')
    expect(answer.headers.get('x-engine-wanted')).toBe('whisper-small')
  })
})

describe('200, streamed', () => {
  const delta = (chunk: string) => ({ type: 'transcript.text.delta', delta: chunk })

  test('chunks as the vendor sends them, and the whole text at the end', async () => {
    const response = await transcribe({ stream: 'true' })
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    const events = (await allEventsIn(response.body)).map(dataOf)
    expect(events).toEqual([
      ...['vendor ', 'transcript ', 'of ', `${sound.length} `, 'bytes'].map(delta),
      { type: 'transcript.text.done', text },
    ])
  })

  test('a vendor without streaming: one chunk and the same end', async () => {
    const response = await transcribe({ stream: 'true', prompt: 'vendor:no-stream' })
    const events = (await allEventsIn(response.body)).map(dataOf)
    expect(events).toEqual([delta(text), { type: 'transcript.text.done', text }])
  })

  test('a format that cannot be streamed lists stream as ignored', async () => {
    const answer = await sendFields({ stream: 'true', response_format: 'verbose_json' })
    expect(answer.body).toHaveProperty('segments')
    expect(answer.headers.get('x-ignored-params')).toBe('stream')
  })

  test('a failure before the first chunk is an HTTP error', async () => {
    const answer = await sendFields({ stream: 'true', prompt: 'vendor:busy' })
    expectProblem(answer, 'model_overloaded')
  })

  test.each(['vendor:die', 'vendor:complain'])('a later failure is an error event: %s', async (prompt) => {
    const { account, text: keyText } = await spender(1)
    const response = await transcribe({ stream: 'true', prompt }, { text: keyText })
    const events = (await allEventsIn(response.body)).map(dataOf)
    expect(events).toEqual([
      delta('vendor '),
      delta('transcript '),
      errorBodyOf('upstream_error', { request_id: response.headers.get('x-request-id') }),
    ])
    expect(JSON.stringify(events)).not.toContain('simulated')
    expect(await requestsOf(account)).toMatchObject([{ outcome: 'failed', captured: 0 }])
  })
})

describe('the official client library', () => {
  const client = () => new OpenAI({ apiKey: key.text, baseURL: `${gateway.url}/openai/v1`, maxRetries: 0 })
  const file = () => toFile(sound, 'speech.wav')

  test('json and verbose_json', async () => {
    expect(await client().audio.transcriptions.create({ file: await file(), model: 'asr-1' })).toMatchObject({
      text,
      usage: { type: 'duration', seconds: 5 },
    })
    const verbose = await client().audio.transcriptions.create({
      file: await file(),
      model: 'asr-1',
      response_format: 'verbose_json',
      timestamp_granularities: ['word', 'segment'],
    })
    expect(verbose).toMatchObject({ text, language: 'english', duration: 5 })
    expect(verbose.words?.map(({ word }) => word)).toEqual(text.split(' '))
    expect(verbose.segments?.map(({ seek }) => seek)).toEqual([0, 150, 300])
  })

  test('text, srt and vtt', async () => {
    const as = async (format: 'text' | 'srt' | 'vtt') => {
      const order = { file: await file(), model: 'asr-1', response_format: format } as const
      const answer: unknown = await client().audio.transcriptions.create(order)
      return String(answer)
    }
    expect(await as('text')).toBe(`${text}\n`)
    expect(readSrt(await as('srt'))).toHaveLength(3)
    expect(readVtt(await as('vtt'))).toHaveLength(3)
  })

  test('a stream', async () => {
    const stream = await client().audio.transcriptions.create({
      file: await file(),
      model: 'chat-4o-transcribe',
      stream: true,
    })
    let streamed = ''
    let ended = ''
    for await (const event of stream) {
      if (event.type === 'transcript.text.delta') streamed += event.delta
      if (event.type === 'transcript.text.done') ended = event.text
    }
    expect(streamed).toBe(text)
    expect(ended).toBe(text)
  })

  test('errors have the classes of the library', async () => {
    const refused = client().audio.transcriptions.create({ file: await file(), model: 'nonsense' })
    await expect(refused).rejects.toBeInstanceOf(OpenAI.NotFoundError)
    const empty = client().audio.transcriptions.create({
      file: await toFile(Buffer.alloc(0), 'a.mp3'),
      model: 'asr-1',
    })
    await expect(empty).rejects.toMatchObject({ status: 400, code: 'invalid_file_format', param: 'file' })
  })
})

describe('money', () => {
  test('a transcript is charged by its measured duration', async () => {
    const { account, text: keyText } = await spender(1)
    await send(audioForm(wave(90), { model: 'asr-1' }), { text: keyText })
    // A minute and a half at 6000 micros per minute.
    expect(await requestsOf(account)).toEqual([
      {
        operation: 'createTranscription',
        model: 'asr-1',
        provider: 'vendor',
        outcome: 'completed',
        held: 9_000,
        captured: 9_000,
      },
    ])
    expect(await balanceOf(account)).toEqual({ available: 1_000_000 - 9_000, held: 0 })
  })

  test('another duration in the report of the vendor is counted for operators', async () => {
    const counted = async () => {
      const { rows } = await gateway.database.postgres.query<{ mismatches: number }>(
        "select mismatches from duration_mismatches where provider = 'vendor'",
      )
      return rows[0]?.mismatches ?? 0
    }
    // The vendor reports the same few seconds for any recording.
    const transcribe = (seconds: number) =>
      send(audioForm(wave(seconds), { model: 'asr-1', response_format: 'verbose_json' }))
    await transcribe(5)
    const before = await counted()
    await transcribe(60)
    await expect.poll(counted).toBe(before + 1)
    await transcribe(5)
    expect(await counted()).toBe(before + 1)
  })

  test('the duration in a file header does not affect the price', async () => {
    const { account, text: keyText } = await spender(1)
    const bytes = wave(90)
    bytes.writeUInt32LE(0xff_ff_ff_ff, 40)
    await send(audioForm(bytes, { model: 'asr-1' }), { text: keyText })
    expect(await requestsOf(account)).toMatchObject([{ captured: 9_000 }])
  })

  test.each(['vendor:500', 'vendor:cut', 'vendor:garbage', 'vendor:busy', 'vendor:moderated'])(
    'a failed transcript is not charged: %s',
    async (prompt) => {
      const { account, text: keyText } = await spender(1)
      expect((await sendFields({ prompt }, { text: keyText })).status).toBeGreaterThanOrEqual(400)
      expect(await requestsOf(account)).toMatchObject([{ outcome: 'failed', held: 500, captured: 0 }])
      expect(await balanceOf(account)).toEqual({ available: 1_000_000, held: 0 })
    },
  )

  test('a disconnect after the first chunk is charged, and the vendor is stopped', async () => {
    const { account, text: keyText } = await spender(1)
    const disconnect = new AbortController()
    const given = { text: keyText, signal: disconnect.signal }
    const response = await transcribe({ prompt: 'vendor:stall', stream: 'true' }, given)
    await nextOf(eventsIn(response.body))
    disconnect.abort()
    await expect.poll(() => lastRequest().state).toBe('abandoned')
    await expect.poll(() => requestsOf(account)).toMatchObject([{ outcome: 'aborted', captured: 500 }])
  })

  test('an operator can deprecate a model and set its price and its vendor name', async () => {
    await using other = await startVendorGateway(
      {},
      {
        'asr-1': {
          upstreamModel: 'ear-9',
          prices: [{ unit: 'minute', micros: 60_000 }],
          state: 'deprecated',
        },
      },
    )
    const { postgres } = other.database
    const account = await createAccount(postgres, { balance: 1 })
    const { text: keyText } = await createKey(postgres, account)
    const answer = await sendFields({}, { text: keyText, url: other.url })
    expect(answer.headers.get('deprecation')).toMatch(/^@\d+$/)
    expect(other.vendor.transcriptions()).toMatchObject([{ fields: { model: ['ear-9'] } }])
    const { rows } = await postgres.query<Record<string, unknown>>(
      'select captured_micros as captured from metered_requests',
    )
    expect(rows).toEqual([{ captured: 5_000 }])
  })
})

describe('400 invalid_request', () => {
  test('JSON, no content type, and a truncated form', async () => {
    const url = `${gateway.url}/v1/audio/transcriptions`
    await expectRefused(() => askJson(url, key.text, { model: 'asr-1' }), 'invalid_request')
    await expectRefused(() => send(Buffer.from('hello')), 'invalid_request')
    const headers = { 'content-type': 'multipart/form-data; boundary=x' }
    await expectRefused(
      () => send('--x\r\nContent-Disposition: form-data; name="fi', { headers }),
      'invalid_request',
    )
  })
})

describe('413', () => {
  test('file_too_large: one byte over the limit', async () => {
    const bytes = waveOf(Buffer.alloc(fileBytesMax - 43))
    await expectRefused(() => send(audioForm(bytes, { model: 'asr-1' })), 'file_too_large', 'file')
  })

  test('file_too_large: with and without a Content-Length', async () => {
    const bytes = Buffer.alloc(fileBytesMax + 2_000_000)
    await expectRefused(() => send(audioForm(bytes, { model: 'asr-1' })), 'file_too_large', 'file')
    const boundary = 'of-a-stream'
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\n`
    const streamed = () =>
      ask(`${gateway.url}/v1/audio/transcriptions`, key.text, {
        method: 'POST',
        headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
        body: new Blob([head, bytes, `\r\n--${boundary}--\r\n`]).stream(),
        duplex: 'half',
      })
    await expectRefused(streamed, 'file_too_large', 'file')
  })

  test('request_too_large: a field of more than a mebibyte', async () => {
    await expectRefused(() => sendFields({ prompt: 'x'.repeat(1_100_000) }), 'request_too_large')
  })
})

describe('400 missing_parameter', () => {
  test('no file, or an empty file field', async () => {
    await expectRefused(() => send(audioForm(undefined, { model: 'asr-1' })), 'missing_parameter', 'file')
    await expectRefused(
      () => send(audioForm(Buffer.alloc(0), { model: 'asr-1' }, '')),
      'missing_parameter',
      'file',
    )
  })

  test('no model', async () => {
    await expectRefused(() => send(audioForm(sound)), 'missing_parameter', 'model')
    await expectRefused(() => sendFields({ model: ' ' }), 'missing_parameter', 'model')
  })
})

describe('400 invalid_parameter', () => {
  test.each([
    ['response_format', ['xml', 'JSON', 'diarized_json']],
    ['temperature', ['-0.1', '1.01', 'hot', '1e-1']],
    ['language', ['xx', 'english', 'e', '12']],
    ['prompt', ['x'.repeat(10_001)]],
    ['stream', ['yes', '1']],
  ])('%s', async (name, values) => {
    for (const value of values) {
      await expectRefused(() => sendFields({ [name]: value }), 'invalid_parameter', name)
    }
  })

  test('timestamp_granularities[], unknown or without verbose_json', async () => {
    const name = 'timestamp_granularities[]'
    await expectRefused(() => sendFields({ [name]: 'word' }), 'invalid_parameter', name)
    await expectRefused(
      () => sendFields({ [name]: 'word', response_format: 'srt' }),
      'invalid_parameter',
      name,
    )
    await expectRefused(
      () => sendFields({ [name]: ['word', 'letter'], response_format: 'verbose_json' }),
      'invalid_parameter',
      name,
    )
  })

  test('a model that does not support transcription', async () => {
    const { body } = await expectRefused(
      () => sendFields({ model: 'chat-4o-mini-tts-2025-12-15' }),
      'invalid_parameter',
      'model',
    )
    expect(body['error']).toHaveProperty('message', expect.stringContaining('one of: asr-1, asr-large-v3,'))
  })

  test('a file as text, and two files', async () => {
    await expectRefused(
      () => send(audioForm(undefined, { model: 'asr-1', file: 'RIFF' })),
      'invalid_parameter',
      'file',
    )
    const two = audioForm(sound, { model: 'asr-1' })
    two.append('file', new Blob([new Uint8Array(sound)]), 'other.wav')
    await expectRefused(() => send(two), 'invalid_parameter', 'file')
  })

  test('a recording longer than the operator allows', async () => {
    const minutes = ['-f', 'lavfi', '-i', 'anullsrc=r=8000:cl=mono', '-map', '1:a', '-t', '901']
    const bytes = await encoded(sound, 'out.flac', minutes)
    const { body } = await expectRefused(
      () => send(audioForm(bytes, { model: 'asr-1' })),
      'invalid_parameter',
      'file',
    )
    expect(body['error']).toHaveProperty('message', expect.stringContaining('/v1/audio/transcription-tasks'))
  })

  test('a value that the vendor rejects', async () => {
    expectProblem(await sendFields({ prompt: 'vendor:reject=invalid_value' }), 'invalid_parameter', 'file')
  })
})

describe('400 invalid_file_format', () => {
  test('a file that is empty, not audio or undecodable', async () => {
    const broken = [Buffer.alloc(0), Buffer.from('words, not sound'), sound.subarray(0, 44)]
    for (const bytes of broken) {
      await expectRefused(() => send(audioForm(bytes, { model: 'asr-1' })), 'invalid_file_format', 'file')
    }
  })
})

describe('400 content_policy_violation', () => {
  test('a recording that the vendor rejects', async () => {
    expectProblem(await sendFields({ prompt: 'vendor:moderated' }), 'content_policy_violation')
  })
})

describe('402', () => {
  const refused = (keyText: string, code: ErrorCode) =>
    expectRefused(() => sendFields({}, { text: keyText }), code)

  test('insufficient_balance', async () => {
    const { headers } = await refused((await spender(0)).text, 'insufficient_balance')
    expect(headers.get('x-should-retry')).toBe('false')
  })

  test('quota_exceeded', async () => {
    await refused((await spender(10, { quotaMicros: 499 })).text, 'quota_exceeded')
    expect((await sendFields({}, await spender(10, { quotaMicros: 500 }))).status).toBe(200)
  })

  test('payment_failed', async () => {
    await refused((await spender(0, { hasFailed: true })).text, 'payment_failed')
  })

  test('subscription_expired', async () => {
    await refused((await spender(10, { kind: 'subscription' })).text, 'subscription_expired')
  })
})

describe('403 audio_requires_payg', () => {
  test('a subscription key, if the operator requires it, before parameters are checked', async () => {
    const subscriber = await spender(0, { kind: 'subscription' })
    await subscribe(gateway.database.postgres, subscriber.account)
    expect((await sendFields({}, { text: subscriber.text })).status).toBe(200)

    await using strict = await startGateway({ AUDIO_REQUIRES_PAYG: 'true' }, gateway)
    const options = { text: subscriber.text, url: strict.url }
    await expectRefused(() => sendFields({ temperature: 'hot' }, options), 'audio_requires_payg')
    await expectRefused(() => sendFields({ model: 'nonsense' }, options), 'model_not_found', 'model')
  })
})

describe('403 model_access_denied', () => {
  test('a model that the key may not use', async () => {
    const { text: keyText } = await createKey(gateway.database.postgres, accountId, {
      models: ['asr-large-v3'],
    })
    await expectRefused(() => sendFields({}, { text: keyText }), 'model_access_denied', 'model')
  })
})

describe('404 model_not_found', () => {
  test('an unknown model, before other errors', async () => {
    const refused = () => send(audioForm(Buffer.from('no sound'), { model: 'asr-2', temperature: 'hot' }))
    await expectRefused(refused, 'model_not_found', 'model')
  })
})

describe('429 rate_limit_exceeded', () => {
  test('audio has its own bucket, with the usual headers', async () => {
    const { text: keyText } = await createKey(gateway.database.postgres, accountId, { limits: { audio: 1 } })
    expect((await sendFields({}, { text: keyText })).status).toBe(200)
    const answer = await sendFields({}, { text: keyText })
    expectProblem(answer, 'rate_limit_exceeded')
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect(answer.headers.get('x-ratelimit-limit')).toBe('1')
    expect(answer.headers.get('x-ratelimit-remaining')).toBe('0')
    expect((await ask(`${gateway.url}/v1/models`, keyText)).status).toBe(200)
  })
})

describe('502 upstream_error', () => {
  // The circuit breaker opens for a vendor that only fails.
  beforeEach(async () => expect((await sendFields({})).status).toBe(200))

  test.each([
    ['vendor:500', 'json'],
    ['vendor:cut', 'json'],
    ['vendor:garbage', 'json'],
    ['vendor:no-text', 'json'],
    ['vendor:no-segments', 'srt'],
    ['vendor:reject=model_gone', 'json'],
  ])('%s', async (prompt, format) => {
    expectProblem(await sendFields({ prompt, response_format: format }), 'upstream_error')
  })

  test("the error does not contain the vendor's message, host or key", async () => {
    const { body } = await sendFields({ prompt: 'vendor:leak' })
    expect(body['error']).toMatchObject({ code: 'invalid_parameter' })
    expect(JSON.stringify(body)).not.toContain(vendorKey)
    expect(JSON.stringify(body)).not.toContain(new URL(gateway.vendor.url).host)
    expect(JSON.stringify(body)).not.toContain('refused')
  })

  test('an unreachable vendor', async () => {
    gateway.vendor.faults.down = true
    expectProblem(await sendFields({}), 'upstream_error')
    gateway.vendor.faults.down = false
  })
})

describe('503', () => {
  test('model_overloaded: an overloaded vendor, with its Retry-After', async () => {
    const answer = await sendFields({ prompt: 'vendor:busy' })
    expectProblem(answer, 'model_overloaded')
    expect(answer.headers.get('retry-after')).toBe('7')
  })

  test('service_unavailable: the built-in provider without weights explains how to install them', async () => {
    const message = 'No engine that listens is here. Run `kinora models pull`.'
    await using local = await listen((request, response) => {
      request.resume().on('end', () => {
        response.writeHead(503, { 'content-type': 'application/json' })
        response.end(JSON.stringify({ error: { code: 'weights_missing', message } }))
      })
    })
    await using own = await startGateway({ LOCAL_URL: local.url }, gateway)
    const answer = await sendFields({}, { url: own.url })
    expectProblem(answer, 'service_unavailable')
    expect(answer.body['error']).toHaveProperty('message', message)
  })

  test('service_unavailable: a missing ffprobe does not blame the file', async () => {
    await using without = await startGateway({ FFPROBE_PATH: '/nowhere/ffprobe' }, gateway)
    const flac = await encoded(sound, 'out.flac')
    await expectRefused(
      () => send(audioForm(flac, { model: 'asr-1' }), { url: without.url }),
      'service_unavailable',
    )
  })
})

describe('200, value by value', () => {
  test.each([
    ['a program stream', 'mpeg', 'audio.mpeg', ['-c:a', 'mp2', '-f', 'mpeg']],
    ['frames of layer II', 'mpga', 'audio.mp3', ['-c:a', 'mp2', '-f', 'mp2']],
    ['frames of layer III', 'mpga', 'audio.mp3', ['-c:a', 'libmp3lame', '-f', 'mp3', '-id3v2_version', '0']],
  ])('%s, the content of %s files', async (_, extension, filename, parameters) => {
    const bytes = await encoded(sound, `out.${extension}`, parameters)
    const answer = await send(audioForm(bytes, { model: 'asr-1' }, `speech.${extension}`))
    expect(answer.body).toEqual({ text: `vendor transcript of ${bytes.length} bytes` })
    expect(lastRequest()).toMatchObject({ filename, contentType: 'audio/mpeg' })
  })

  test.each(['asr-1', 'asr-large-v3', 'asr-large-v3-turbo'])('%s supports every format', async (model) => {
    for (const format of ['json', 'text', 'srt', 'vtt', 'verbose_json']) {
      const response = await transcribe({ model, response_format: format })
      expect(response.status).toBe(200)
      expect(response.headers.get('x-ignored-params')).toBeNull()
      const isJson = format === 'json' || format === 'verbose_json'
      expect(response.headers.get('content-type')).toMatch(isJson ? /^application\/json;/ : /^text\/plain;/)
      await response.text()
      expect(lastRequest().fields).toMatchObject({ model: [model] })
    }
  })

  test.each(['0', '1'])('a temperature of %s', async (temperature) => {
    expect((await sendFields({ temperature })).status).toBe(200)
    expect(lastRequest().fields).toMatchObject({ temperature: [temperature] })
  })
})

describe('after all tests', () => {
  test('the ledger is balanced and nothing is held', async () => {
    const held = async () => {
      const { rows } = await gateway.database.postgres.query<{ held: number }>(
        'select sum(held_micros) as held from balances',
      )
      return rows[0]?.held
    }
    await expect.poll(held).toBe(0)
    expect(await brokenInvariants(gateway.database.postgres)).toEqual([])
  })
})
