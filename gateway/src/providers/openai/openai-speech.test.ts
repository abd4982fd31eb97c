import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'

import { startVendor, type Vendor } from '../../../../dev/vendor/vendor.ts'
import { failureOf, listenForTest } from '../../../test/kit/listen-for-test.ts'
import type { SpeechJob } from '../port/speech.ts'
import { openAiSpeech } from './openai-speech.ts'

const apiKey = 'vendor-key'
const job = (changes: Partial<SpeechJob> = {}): SpeechJob => ({
  model: 'speaker-1',
  input: 'Hello there',
  voice: 'alloy',
  format: 'wav',
  speed: 1,
  instructions: undefined,
  ...changes,
})
const soon = () => AbortSignal.timeout(120_000)

afterEach(() => {
  vi.useRealTimers()
})

describe('against the simulated vendor', () => {
  let vendor: Vendor
  beforeAll(async () => {
    vendor = await startVendor({ apiKey })
  })
  afterAll(() => vendor.close())
  const provider = () => openAiSpeech({ baseUrl: `${vendor.url}/v1`, apiKey, isOurs: false })

  test('a speech arrives completely, as requested', async () => {
    const { bytes, engine } = await provider().speak(job({ speed: 2, instructions: 'Whisper.' }), soon())
    const sound = Buffer.concat((await bytes.toArray()) as Buffer[])
    const [asked] = vendor.speeches().slice(-1)
    expect(asked).toMatchObject({ model: 'speaker-1', voice: 'alloy', speed: 2, instructions: 'Whisper.' })
    expect(sound).toHaveLength(asked?.sizeBytes ?? 0)
    expect(sound.toString('latin1', 0, 4)).toBe('RIFF')
    expect(engine).toBeUndefined()
  })

  test.each([
    ['vendor:500', 'unknown', undefined],
    ['vendor:busy', 'busy', undefined],
    ['vendor:moderated', 'moderated', 'content_policy_violation'],
    ['vendor:reject=invalid_value', 'rejected', 'invalid_parameter'],
    ['vendor:reject=max_output_tokens', 'rejected', 'output_length_exceeded'],
    ['vendor:empty', 'unknown', undefined],
    ['vendor:wrong-type=html', 'unknown', undefined],
    ['vendor:leak', 'rejected', 'invalid_parameter'],
  ])('%s is %s', async (input, kind, code) => {
    const failure = await failureOf(provider().speak(job({ input }), soon()))
    expect(failure).toMatchObject({ name: 'ProviderFailure', kind, code, forCaller: undefined })
    expect(String(failure)).not.toContain(apiKey)
    expect(String(failure)).not.toContain(new URL(vendor.url).host)
  })

  test('a broken connection is an error of the stream', async () => {
    const { bytes } = await provider().speak(job({ input: 'On and on vendor:die' }), soon())
    expect(await failureOf(bytes.toArray())).toMatchObject({ name: 'ProviderFailure', kind: 'unknown' })
  })

  test('an abort ends the call, before and after the first byte', async () => {
    const leave = new AbortController()
    const hanging = failureOf(provider().speak(job({ input: 'vendor:hang' }), leave.signal))
    await expect.poll(() => vendor.speeches().at(-1)?.input).toBe('vendor:hang')
    leave.abort()
    expect(await hanging).toMatchObject({ kind: 'unknown', message: 'speech failed: AbortError' })
    await expect.poll(() => vendor.speeches().at(-1)?.state).toBe('abandoned')

    const later = new AbortController()
    const { bytes } = await provider().speak(job({ input: 'vendor:stall' }), later.signal)
    later.abort()
    expect(await failureOf(bytes.toArray())).toMatchObject({ kind: 'unknown' })
    await expect.poll(() => vendor.speeches().at(-1)?.state).toBe('abandoned')
  })

  test('a vendor that does not start times out, one that has started does not', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const firstByteMs = 3_600_000
    const hasty = openAiSpeech({ baseUrl: vendor.url, apiKey, isOurs: false, firstByteMs })
    const given = vendor.speeches().length
    const failure = failureOf(hasty.speak(job({ input: 'vendor:hang' }), soon()))
    await expect.poll(() => vendor.speeches().length).toBe(given + 1)
    vi.advanceTimersByTime(firstByteMs)
    expect(await failure).toMatchObject({ kind: 'unknown', message: 'speech failed: TimeoutError' })

    const { bytes } = await hasty.speak(job({ input: 'Slowly vendor:pace=20' }), soon())
    vi.advanceTimersByTime(2 * firstByteMs)
    expect(Buffer.concat((await bytes.toArray()) as Buffer[]).length).toBeGreaterThan(1_000)
  })
})

test.each([
  ['audio/mpeg', 'mp3', true],
  ['audio/mp3; charset=binary', 'mp3', true],
  ['application/octet-stream', 'flac', true],
  ['', 'flac', true],
  ['audio/something-new', 'flac', true],
  ['application/ogg', 'opus', true],
  ['audio/x-wav', 'wav', true],
  ['audio/L16; rate=24000', 'pcm', true],
  ['audio/wav', 'mp3', false],
  ['audio/mpeg', 'pcm', false],
  ['text/plain', 'mp3', false],
  ['video/mp4', 'aac', false],
])('a response of type "%s" to a request for %s is accepted: %s', async (contentType, format, isAccepted) => {
  await using server = await listenForTest((_request, response) => {
    if (contentType !== '') response.setHeader('content-type', contentType)
    response.end('sound')
  })
  const provider = openAiSpeech({ baseUrl: server.url, apiKey, isOurs: false })
  const asked = provider.speak(job({ format: format as SpeechJob['format'] }), soon())
  if (isAccepted)
    expect(Buffer.concat((await (await asked).bytes.toArray()) as Buffer[]).toString()).toBe('sound')
  else expect(await failureOf(asked)).toMatchObject({ kind: 'unknown' })
})

test('the built-in provider reports its engine, gets no instructions, and its messages are for callers', async () => {
  await using server = await listenForTest((_request, response, body) => {
    if (body.includes('nothing')) {
      response.writeHead(503, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ error: { code: 'weights_missing', message: 'Run the command.' } }))
      return
    }
    response.setHeader('x-engine', 'small').setHeader('x-engine-wanted', 'large').end('sound')
  })
  const provider = openAiSpeech({ baseUrl: server.url, apiKey: undefined, isOurs: true })
  expect(provider.followsInstructions).toBe(false)
  const { engine, bytes } = await provider.speak(job(), soon())
  bytes.destroy()
  expect(engine).toEqual({ name: 'small', wanted: 'large' })
  expect(await failureOf(provider.speak(job({ input: 'nothing' }), soon()))).toMatchObject({
    code: 'service_unavailable',
    forCaller: 'Run the command.',
  })
})
