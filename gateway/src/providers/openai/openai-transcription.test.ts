import { Readable } from 'node:stream'

import { describe, expect, test } from 'vitest'

import { failureOf, listenForTest } from '../../../test/kit/listen-for-test.ts'
import type { TranscriptionJob } from '../port/transcription.ts'
import { openAiTranscription } from './openai-transcription.ts'

const soon = (): AbortSignal => AbortSignal.timeout(120_000)

const job = (changes: Partial<TranscriptionJob> = {}): TranscriptionJob => ({
  model: 'ear-2',
  task: 'transcribe',
  file: {
    filename: 'audio.wav',
    contentType: 'audio/wav',
    sizeBytes: 5,
    open: async () => Readable.from([Buffer.from('sound')]),
  },
  language: undefined,
  prompt: undefined,
  temperature: 0.5,
  wantsSegments: false,
  wantsWords: false,
  ...changes,
})

const connect = (baseUrl: string, isOurs = false) =>
  openAiTranscription({ baseUrl, apiKey: 'vendor-secret', isOurs })

/** Calls a vendor with a constant response. */
const answered = async (body: unknown, changes: Partial<TranscriptionJob> = {}) => {
  await using vendor = await listenForTest((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  return await connect(vendor.url).transcribe(job(changes), soon())
}

/** The transcript chunks of a stream whose bytes arrive in these chunks. */
const streamed = async (chunks: string[], isOurs = false) => {
  await using vendor = await listenForTest((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'x-engine': 'an-engine' })
    const bytes = chunks.map((chunk) => Buffer.from(chunk, 'latin1'))
    const next = () => {
      const chunk = bytes.shift()
      if (chunk === undefined) response.end()
      else response.write(chunk, () => setImmediate(next))
    }
    next()
  })
  const { chunks: transcript, engine } =
    (await connect(vendor.url, isOurs).streamTranscript?.(job(), soon())) ?? {}
  const heard: string[] = []
  for await (const chunk of transcript ?? []) heard.push(chunk)
  return { heard, engine }
}

const unknown = expect.objectContaining({ name: 'ProviderFailure', kind: 'unknown' }) as Error

test('the form has the recording last, with name and type, and only the given fields', async () => {
  const forms: string[] = []
  await using vendor = await listenForTest((request, response, body) => {
    forms.push(`${request.url} ${request.headers.authorization}\n${body.toString()}`)
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end('{"text":"","segments":[],"words":[]}')
  })
  for (const base of [vendor.url, `${vendor.url}/v1`, `${vendor.url}/v1/`]) {
    await connect(base).transcribe(job({ language: 'de', wantsSegments: true, wantsWords: true }), soon())
  }
  await connect(vendor.url).transcribe(job({ task: 'translate', language: 'de' }), soon())
  const fieldsOf = (text: string) =>
    [...text.matchAll(/name="([^"]+)"\r\n\r\n([^\r]*)/g)].map(([, name, value]) => `${name}=${value}`)
  expect(forms.map((text) => text.split('\n', 1)[0])).toEqual([
    ...Array.from({ length: 3 }, () => '/v1/audio/transcriptions Bearer vendor-secret'),
    '/v1/audio/translations Bearer vendor-secret',
  ])
  expect(fieldsOf(forms[0] ?? '')).toEqual([
    'model=ear-2',
    'language=de',
    'temperature=0.5',
    'response_format=verbose_json',
    'timestamp_granularities[]=word',
    'timestamp_granularities[]=segment',
  ])
  expect(forms[0]).toMatch(
    /name="file"; filename="audio.wav"\r\nContent-Type: audio\/wav\r\n\r\nsound\r\n--\S+--\r\n$/,
  )
  expect(fieldsOf(forms[3] ?? '')).toEqual(['model=ear-2', 'temperature=0.5', 'response_format=json'])
})

describe('reading an answer', () => {
  test('missing figures are zero, and the temperature is the requested one', async () => {
    const segments = [{ start: '0.5', end: 2, text: ' Hello' }]
    const transcript = await answered({ text: 'Hello', segments, language: 'EN' }, { wantsSegments: true })
    expect(transcript).toMatchObject({
      text: 'Hello',
      language: 'EN',
      segments: [
        {
          ...{ start: 0.5, end: 2, text: ' Hello', tokens: [], temperature: 0.5 },
          ...{ avgLogprob: 0, compressionRatio: 0, noSpeechProb: 0, seek: 0 },
        },
      ],
    })
  })

  test('silence is an empty text', async () => {
    expect(await answered({ text: '' })).toMatchObject({ text: '', segments: undefined, words: undefined })
  })

  test('the transcript of hours may be larger than other responses', async () => {
    const words = Array.from({ length: 40_000 }, (_, at) => ({ word: 'word', start: at, end: at + 1 }))
    const transcript = await answered({ text: 'word', words }, { wantsWords: true })
    expect(transcript.words).toHaveLength(40_000)
  })

  test.each<[string, unknown, Partial<TranscriptionJob>]>([
    ['no text', {}, {}],
    ['no object', ['Hello'], {}],
    ['no segments', { text: 'Hello' }, { wantsSegments: true }],
    ['a segment without times', { text: 'a', segments: [{ text: 'a' }] }, { wantsSegments: true }],
    ['no words', { text: 'Hello', segments: [] }, { wantsSegments: true, wantsWords: true }],
    ['a word that is none', { text: 'a', words: [{ start: 0, end: 1 }] }, { wantsWords: true }],
  ])('%s is no answer', async (_, body, changes) => {
    await expect(answered(body, changes)).rejects.toThrow(unknown)
  })
})

describe('reading a stream', () => {
  const event = (value: unknown, end = '\n\n') => `data: ${JSON.stringify(value)}${end}`
  const delta = (text: string) => ({ type: 'transcript.text.delta', delta: text })
  const done = (text: string) => ({ type: 'transcript.text.done', text })

  test('with any chunk boundaries and line endings', async () => {
    const text = Buffer.from(
      `: hello\r\n\r\nevent: x\r\n${event(delta('Grüße '), '\r\n\r\n')}${event(delta('💡'), '\r\r')}${event(done('Grüße 💡'))}`,
    ).toString('latin1')
    for (const size of [1, 2, 7, 1000]) {
      const chunks = text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []
      expect((await streamed(chunks)).heard).toEqual(['Grüße ', '💡'])
    }
  })

  test('text that is only in the last event is used', async () => {
    expect((await streamed([event(done('All at once'))])).heard).toEqual(['All at once'])
    expect((await streamed([event(delta('All ')), event(done('All at once'))])).heard).toEqual([
      'All ',
      'at once',
    ])
  })

  test('a stream without an end event is a failure', async () => {
    await expect(streamed([event(delta('And then'))])).rejects.toThrow(unknown)
    await expect(streamed([event(delta('And then')), event(done('And'), '\n')])).rejects.toThrow(unknown)
  })

  test("a vendor's error stays in the log; the built-in provider's may be shown, and only that one reports its engine", async () => {
    const vendorError = event({ error: { code: 'server_error', message: 'host 10.0.0.1 is out of memory' } })
    expect(await failureOf(streamed([vendorError]))).toMatchObject({ forCaller: undefined })
    const own = event({ error: { code: 'invalid_file_format', message: 'That is no sound.' } })
    expect(await failureOf(streamed([own], true))).toMatchObject({
      code: 'invalid_file_format',
      forCaller: 'That is no sound.',
    })
    expect((await streamed([event(done('x'))])).engine).toBeUndefined()
    expect((await streamed([event(done('x'))], true)).engine).toEqual({
      name: 'an-engine',
      wanted: undefined,
    })
  })
})
