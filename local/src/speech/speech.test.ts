import { createServer, request as httpRequest, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { childPrograms } from '../../test/kit/child-programs.ts'
import { bytesOf, decode, levelOf, probe, secondsOf } from '../../test/kit/listen.ts'
import { nearestVoices } from '../../test/kit/nearest-voices.ts'
import type { ModelDirectory } from '../models/model-directory.ts'
import { createSpeech, type Speech } from './speech.ts'
import { voices } from './voices.ts'

const withoutWeights: ModelDirectory = { path: '/nowhere', find: () => undefined }
const never = new AbortController().signal
const passage =
  'The harbour was quiet in the early morning. She asked them all to bring warm coats, because nine thousand ' +
  'people live along the river.'

let speech: Speech
let server: Server
let url: string

beforeAll(async () => {
  speech = createSpeech({
    directory: withoutWeights,
    ffmpegPath: 'ffmpeg',
    espeakPath: '/usr/bin/espeak-ng',
    log: () => {},
  })
  server = createServer((request, response) => void speech.handle(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/audio/speech`
})
afterAll(async () => {
  await speech.close()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

async function say(input: string, voice = 'alloy', format = 'pcm', speed = 1): Promise<Buffer> {
  return await bytesOf((await speech.speak({ input, voice, format, speed }, never)).stream)
}

async function post(body: unknown): Promise<Response> {
  return await fetch(url, { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body) })
}

describe('formats', () => {
  test.each([
    ['mp3', 'mp3', '24000'],
    // Opus always reports 48 kHz.
    ['opus', 'opus', '48000'],
    ['aac', 'aac', '24000'],
    ['flac', 'flac', '24000'],
    ['wav', 'pcm_s16le', '24000'],
    ['pcm', 'pcm_s16le', '24000'],
  ])('%s has the right codec, rate and length at every speed', async (format, codec, rate) => {
    const usual = await say(passage, 'alloy', format)
    expect(await probe(usual, format)).toMatchObject({ codec_name: codec, sample_rate: rate, channels: 1 })
    const seconds = await secondsOf(usual, format)
    expect(seconds).toBeGreaterThan(5)
    for (const speed of format === 'mp3' ? [0.25, 0.5, 2, 4] : [0.25, 4]) {
      const changed = await secondsOf(await say(passage, 'alloy', format, speed), format)
      expect(Math.abs((changed * speed) / seconds - 1), `speed ${speed}`).toBeLessThan(0.05)
    }
  })

  test('pcm16 is an alias of pcm', async () => {
    expect(await say('One.', 'alloy', 'pcm16')).toEqual(await say('One.', 'alloy', 'pcm'))
  })
})

test('the voices of espeak-ng are distinguishable and equally loud', async () => {
  const sounds = new Map<string, Float32Array>()
  for (const name of voices.keys())
    sounds.set(name, await decode(await say('We met by the old harbour.', name), 'pcm'))
  const nearest = nearestVoices(sounds)
  process.stdout.write(`espeak-ng: nearest voices ${nearest.pair} at ${nearest.distance.toFixed(1)}\n`)
  expect(nearest.distance, nearest.pair).toBeGreaterThan(2)
  const levels = [...sounds.values()].map(levelOf)
  expect(Math.max(...levels) / Math.min(...levels)).toBeLessThan(1.4)
})

test.each(['...', '😀', ' ', '\u0007'])('%j is a short silence', async (input) => {
  const sound = await decode(await say(input), 'pcm')
  expect(sound.length).toBeGreaterThan(0)
  expect(sound.every((value) => value === 0)).toBe(true)
})

test('a text in several scripts is spoken by the voices of their languages', async () => {
  const spoken = await speech.speak({ input: 'Привет, мир!', voice: 'alloy', format: 'pcm', speed: 1 }, never)
  expect([spoken.engine, spoken.wanted]).toEqual(['espeak-ng', 'espeak-ng'])
  const seconds = (await bytesOf(spoken.stream)).length / 48_000
  expect(seconds).toBeGreaterThan(0.5)
  // Spelled out, the five characters would take ten seconds.
  expect((await say('We say 你好，世界 here.')).length / 48_000).toBeLessThan(4)
})

test('a text is not parsed as an option', async () => {
  expect((await say('--version')).length).toBeGreaterThan(10_000)
})

describe('over HTTP', () => {
  test('speech is streamed, and a header names its engine', async () => {
    const response = await post({ model: 'm', input: passage, voice: 'Puck', instructions: 'Whisper.' })
    expect(response.status).toBe(200)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'audio/mpeg',
      'x-engine': 'espeak-ng',
      'x-engine-wanted': 'kokoro',
      'transfer-encoding': 'chunked',
    })
    expect(await secondsOf(Buffer.from(await response.arrayBuffer()), 'mp3')).toBeGreaterThan(5)
  })

  const order = { input: 'Hi.', voice: 'alloy' }
  test.each<[string, unknown, string]>([
    ['no JSON', '{', 'invalid_request'],
    ['no object', '[]', 'invalid_request'],
    ['no input', { voice: 'alloy' }, 'invalid_request'],
    ['an empty input', { ...order, input: '' }, 'invalid_request'],
    ['a long input', { ...order, input: 'x'.repeat(32_001) }, 'invalid_request'],
    ['a huge body', { ...order, input: 'x'.repeat(600_000) }, 'invalid_request'],
    ['a voice in capitals', { ...order, voice: 'ALLOY' }, 'voice_not_supported'],
    ['a voice that is a number', { ...order, voice: 7 }, 'invalid_request'],
    ['an unknown format', { ...order, response_format: 'ogg' }, 'invalid_request'],
    ['a format that is no word', { ...order, response_format: {} }, 'invalid_request'],
    ['a speed too low', { ...order, speed: 0.2 }, 'invalid_request'],
    ['a script that no voice speaks', { ...order, input: 'สวัสดี' }, 'invalid_parameter'],
    ['Japanese with kanji', { ...order, input: '東京へ行きます' }, 'invalid_parameter'],
    ['nothing but emoji', { ...order, input: '😀🎉' }, 'invalid_parameter'],
    ['a speed in words', { ...order, speed: '1' }, 'invalid_request'],
  ])('rejects %s', async (_name, body, code) => {
    const response = await post(body)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: { code, message: expect.any(String) as string } })
  })

  test('a client that disconnects ends every process', async () => {
    const request = httpRequest(url, { method: 'POST' })
    request.on('error', () => {})
    request.end(JSON.stringify({ input: passage.repeat(200), voice: 'alloy', response_format: 'wav' }))
    await new Promise<void>((resolve) =>
      request.once('response', (response) => response.once('data', () => resolve())),
    )
    expect(childPrograms()).toContain('ffmpeg')
    request.destroy()
    await expect.poll(() => childPrograms()).toEqual([])
  })

  test('requests over the concurrency limit get 503', async () => {
    const held = await Promise.all(
      Array.from({ length: 8 }, () =>
        speech.speak({ input: passage.repeat(30), voice: 'alloy', format: 'wav', speed: 1 }, never),
      ),
    )
    const response = await post(order)
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5'])
    for (const { stream } of held) stream.destroy()
    await expect.poll(async () => (await post(order)).status).toBe(200)
  })

  test('without espeak-ng speech is unavailable', async () => {
    const mute = createSpeech({
      directory: withoutWeights,
      ffmpegPath: 'ffmpeg',
      espeakPath: undefined,
      log: () => {},
    })
    const muteServer = createServer((request, response) => void mute.handle(request, response))
    await new Promise<void>((resolve) => muteServer.listen(0, '127.0.0.1', resolve))
    const { port } = muteServer.address() as AddressInfo
    const body = JSON.stringify(order)
    const response = await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body })
    expect(response.status).toBe(503)
    expect(await response.json()).toMatchObject({ error: { code: 'service_unavailable' } })
    await mute.close()
    muteServer.closeAllConnections()
    await new Promise((resolve) => muteServer.close(resolve))
  })
})
