import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'

import { startVendor, type Vendor } from '../../../../dev/vendor/vendor.ts'
import { failureOf, listenForTest } from '../../../test/kit/listen-for-test.ts'
import type { SpeechJob } from '../port/speech.ts'
import { geminiSpeech, type GeminiSpeechSettings } from './gemini-speech.ts'

const apiKey = 'vendor-key'
const job = (changes: Partial<SpeechJob> = {}): SpeechJob => ({
  model: 'speaker-1',
  input: 'Hello there',
  voice: 'Puck',
  format: 'pcm',
  speed: 1,
  instructions: undefined,
  ...changes,
})
const soon = () => AbortSignal.timeout(120_000)

afterEach(() => {
  vi.useRealTimers()
})

const connect = (baseUrl: string, changes: Partial<GeminiSpeechSettings> = {}) =>
  geminiSpeech({
    ...{ baseUrl, apiKey, api: 'developer', location: 'here', streaming: true, voices: {} },
    ...{ followsInstructions: true, ffmpegPath: 'ffmpeg' },
    ...changes,
  })

describe('against the simulated vendor', () => {
  let vendor: Vendor
  beforeAll(async () => {
    vendor = await startVendor({ apiKey })
  })
  afterAll(() => vendor.close())

  const speak = (changes: Partial<SpeechJob> = {}, settings: Partial<GeminiSpeechSettings> = {}) =>
    connect(vendor.url, settings).speak(job(changes), soon())
  const bytesOf = async (...given: Parameters<typeof speak>) => {
    const { bytes } = await speak(...given)
    return Buffer.concat((await bytes.toArray()) as Buffer[])
  }
  const asked = () => vendor.speeches().at(-1)

  test.each([
    ['in events', {}],
    ['whole', { streaming: false }],
    ['in events, by the enterprise API', { api: 'enterprise', project: 'ours' }],
  ] as const)('a speech arrives whole, asked for %s', async (_, settings) => {
    const sound = await bytesOf({}, settings)
    expect(asked()).toMatchObject({
      model: 'speaker-1',
      input: 'Hello there',
      voice: 'Puck',
      state: 'finished',
    })
    expect(sound).toHaveLength(asked()?.sizeBytes ?? 0)
  })

  test('speech is encoded, and slowed down or sped up, here', async () => {
    const wave = await bytesOf({ format: 'wav', speed: 2 })
    expect(wave.toString('latin1', 0, 4)).toBe('RIFF')
    expect(wave.length / ((asked()?.sizeBytes ?? 0) / 2)).toBeCloseTo(1, 1)
    const resampled = await bytesOf({ input: 'Slowly vendor:rate=12000' })
    expect(resampled.length / (2 * (asked()?.sizeBytes ?? 0))).toBeCloseTo(1, 1)
  })

  test("voices are sent by the vendor's names", async () => {
    const said = async (voice: string, voices = {}) => {
      await bytesOf({ voice }, { voices })
      return asked()?.voice
    }
    expect(await said('alloy')).toBe('Kore')
    expect(await said('alloy', { alloy: 'Zephyr' })).toBe('Zephyr')
    expect(await said('Sulafat')).toBe('Sulafat')
    expect(await said('toString')).toBe('toString')
  })

  test('instructions go before the text', async () => {
    await bytesOf({ instructions: 'Whisper.' })
    expect(asked()?.input).toBe('Whisper.\n\nRead aloud only what follows:\n\nHello there')
    expect(connect(vendor.url, { followsInstructions: false }).followsInstructions).toBe(false)
  })

  test('text instead of audio is retried once', async () => {
    const before = vendor.speeches().length
    expect((await bytesOf({ input: 'Hello vendor:words=1' })).length).toBeGreaterThan(1_000)
    expect(vendor.speeches()).toHaveLength(before + 2)
    expect(await failureOf(bytesOf({ input: 'Hello vendor:words=2' }))).toMatchObject({
      kind: 'unknown',
      message: 'speech answered no sound',
    })
    expect(vendor.speeches()).toHaveLength(before + 4)
  })

  test.each([
    ['vendor:500', 'unknown', undefined],
    ['vendor:busy', 'busy', undefined],
    ['vendor:mistake', 'busy', undefined],
    ['vendor:reject=content_policy_violation', 'moderated', 'content_policy_violation'],
    ['vendor:reject=invalid_value', 'rejected', 'invalid_parameter'],
    ['vendor:moderated', 'moderated', 'content_policy_violation'],
    ['vendor:blocked', 'moderated', 'content_policy_violation'],
    ['vendor:too-long', 'rejected', 'output_length_exceeded'],
    ['vendor:empty', 'unknown', undefined],
    ['vendor:type=mpeg', 'unknown', undefined],
    ['vendor:rate=9999999', 'unknown', undefined],
  ])('%s is %s, in events and whole', async (input, kind, code) => {
    for (const streaming of [true, false]) {
      const failure = await failureOf(speak({ input }, { streaming }))
      expect(failure).toMatchObject({ name: 'ProviderFailure', kind, code, forCaller: undefined })
      expect(String(failure)).not.toContain(apiKey)
    }
  })

  test.each([
    ['vendor:die', 'unknown'],
    ['vendor:cut', 'unknown'],
    ['vendor:ends=safety', 'moderated'],
    ['vendor:ends=max_tokens', 'rejected'],
  ])('%s after it has begun is an error of the stream', async (input, kind) => {
    const { bytes } = await speak({ input: `On and on ${input}` })
    expect(await failureOf(bytes.toArray())).toMatchObject({ name: 'ProviderFailure', kind })
    // The encoder may not have produced output by then.
    const failure = await failureOf(bytesOf({ input: `On and on ${input}`, format: 'mp3' }))
    expect(failure).toMatchObject({ name: 'ProviderFailure', kind })
  })

  test('the first bytes arrive before the vendor has finished, and leaving stops it', async () => {
    for (const format of ['pcm', 'mp3'] as const) {
      const leave = new AbortController()
      const input = 'A story that goes on for quite a while vendor:stall'
      const { bytes } = await connect(vendor.url).speak(job({ input, format }), leave.signal)
      expect(asked()?.state).toBe('under way')
      leave.abort()
      expect(await failureOf(bytes.toArray())).toMatchObject({ kind: 'unknown' })
      await expect.poll(() => asked()?.state).toBe('abandoned')

      const { bytes: dropped } = await speak({ input, format })
      dropped.destroy()
      await expect.poll(() => asked()?.state).toBe('abandoned')
    }
  })

  test('a vendor that does not start times out', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const firstByteMs = 3_600_000
    const given = vendor.speeches().length
    const failure = failureOf(speak({ input: 'vendor:hang' }, { firstByteMs }))
    await expect.poll(() => vendor.speeches().length).toBe(given + 1)
    vi.advanceTimersByTime(firstByteMs)
    expect(await failure).toMatchObject({ kind: 'unknown', message: 'speech failed: TimeoutError' })
    await expect.poll(() => asked()?.state).toBe('abandoned')
  })

  test('without an encoder the failure names it, and only PCM works', async () => {
    const settings = { ffmpegPath: '/nowhere/ffmpeg' }
    expect(await failureOf(speak({ format: 'mp3' }, settings))).toMatchObject({
      code: 'service_unavailable',
      message: expect.stringContaining('FFMPEG_PATH'),
    })
    await expect.poll(() => asked()?.state).not.toBe('under way')
    expect((await bytesOf({}, settings)).length).toBeGreaterThan(1_000)
  })
})

describe('another form of response', () => {
  const samples = Buffer.from(Int16Array.from({ length: 3000 }, (_, at) => at).buffer)
  const partOf = (from: number, to: number) => ({
    inline_data: { mime_type: 'audio/pcm; rate=24000', data: samples.subarray(from, to).toString('base64') },
  })
  const first = {
    candidates: [{ content: { parts: [partOf(0, 1001), { text: 'Hm.' }, partOf(1001, 3000)] } }],
  }
  const last = { candidates: [{ content: { parts: [partOf(3000, 6000)] }, finishReason: 'STOP' }] }

  test.each([
    ['a list instead of events', 'application/json', JSON.stringify([first, last], null, 2)],
    [
      'events over several lines',
      'text/event-stream',
      [first, last]
        .map((event) => `data: ${JSON.stringify(event, null, 1).replaceAll('\n', '\ndata: ')}\n\n`)
        .join(''),
    ],
    [
      'one large event',
      'text/event-stream',
      `data: ${JSON.stringify({ candidates: [{ content: { parts: [partOf(0, 6000)] }, finishReason: 'OTHER' }] })}\n\n`,
    ],
  ])('%s', async (_, contentType, text) => {
    await using vendor = await listenForTest((_request, response) => {
      response.writeHead(200, { 'content-type': contentType }).end(text)
    })
    const { bytes } = await connect(vendor.url).speak(job(), soon())
    expect(Buffer.concat((await bytes.toArray()) as Buffer[]).equals(samples)).toBe(true)
  })

  test('without end is paused by a listener that does not read', async () => {
    let readSseEvents = 0
    let hasLeft = false
    const part = { inlineData: { mimeType: 'audio/pcm', data: Buffer.alloc(48_000).toString('base64') } }
    const event = `data: ${JSON.stringify({ candidates: [{ content: { parts: [part] } }] })}\n\n`
    await using vendor = await listenForTest((_request, response) => {
      const send = () => {
        while (!hasLeft && response.write(event)) readSseEvents += 1
      }
      response.on('drain', send).on('close', () => (hasLeft = true))
      send()
    })
    const { bytes } = await connect(vendor.url).speak(job({ format: 'wav' }), soon())
    let before = -1
    const isStill = () => before === (before = readSseEvents)
    await expect.poll(isStill, { interval: 200 }).toBe(true)
    expect(hasLeft).toBe(false)
    bytes.destroy()
    await expect.poll(() => hasLeft).toBe(true)
  })

  test('is a failure if it is an HTML page', async () => {
    await using vendor = await listenForTest((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Welcome</html>')
    })
    for (const streaming of [true, false]) {
      const failure = await failureOf(connect(vendor.url, { streaming }).speak(job(), soon()))
      expect(failure).toMatchObject({ name: 'ProviderFailure', kind: 'unknown' })
    }
  })
})
