/** `GET /v1/audio/voices`, and the recordings that it links to. */
import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { ask, expectProblem } from '../kit/answers.ts'
import { createAccount, createKey, type TestKey } from '../kit/factories.ts'
import { recordOf } from '../kit/start-gateway.ts'
import { startVendorGateway, type VendorGateway } from '../kit/vendor-gateway.ts'

const speechModel = 'chat-4o-mini-tts-2025-12-15'
const otherSpeechModel = 'ttsB-3.1-flash-tts-preview'
const chatModel = 'chat-4o-audio-preview'

let gateway: VendorGateway
let accountId: string
let key: TestKey

beforeAll(async () => {
  gateway = await startVendorGateway()
  accountId = await createAccount(gateway.database.postgres, { balance: 0 })
  key = await createKey(gateway.database.postgres, accountId)
})
afterAll(() => gateway[Symbol.asyncDispose]())

interface Voice {
  name: string
  language: string | null
  gender: string | null
  models: string[]
  sample: string | null
}

const voicesFor = async (text: string): Promise<Voice[]> => {
  const { status, body } = await ask(`${gateway.url}/v1/audio/voices`, text)
  expect(status).toBe(200)
  expect(body['object']).toBe('list')
  return body['data'] as Voice[]
}

const restrictedTo = async (...models: string[]): Promise<string> => {
  const { id, text } = await createKey(gateway.database.postgres, accountId)
  await gateway.database.postgres.query('update keys set models = $2 where id = $1', [id, models])
  return text
}

const sampleOf = (voices: Voice[], name: string): string => {
  const sample = voices.find((voice) => voice.name === name)?.sample ?? ''
  // The public URL of a test is not that of its server.
  return `${gateway.url}${new URL(sample).pathname}${new URL(sample).search}`
}

describe('200', () => {
  test('each voice has its language, gender, models and recording', async () => {
    const voices = await voicesFor(key.text)
    expect(voices.map(({ name }) => name)).toEqual([
      ...['alloy', 'echo', 'fable', 'onyx', 'nova', 'shimmer'],
      ...['Aoede', 'Charon', 'Fenrir', 'Kore', 'Puck'],
    ])
    expect(voices[2]).toEqual({
      ...{ name: 'fable', object: 'voice', language: 'en-GB', gender: 'male' },
      models: [speechModel, chatModel],
      sample: expect.stringMatching(/\/v1\/audio\/voices\/[^/]+\/fable\/sample\.mp3\?expires=/),
    })
    expect(voices[9]).toMatchObject({ name: 'Kore', gender: 'female', models: [otherSpeechModel] })
  })

  test('a key sees the voices of its models', async () => {
    const ofSpeech = await voicesFor(await restrictedTo(otherSpeechModel))
    expect(ofSpeech.map(({ name }) => name)).toEqual(['Aoede', 'Charon', 'Fenrir', 'Kore', 'Puck'])
    const ofChat = await voicesFor(await restrictedTo(chatModel))
    expect(ofChat).toHaveLength(6)
    for (const { models, sample } of ofChat)
      expect({ models, sample }).toEqual({ models: [chatModel], sample: null })
    expect(await voicesFor(await restrictedTo('vidB-2'))).toEqual([])
  })

  test('a recording is spoken once for all callers, without a key or a charge', async () => {
    const url = sampleOf(await voicesFor(key.text), 'nova')
    const { files: _, ...before } = await recordOf(gateway)
    const calls = gateway.vendor.speeches().length
    const answers = await Promise.all([fetch(url), fetch(url), fetch(url)])
    const recordings = await Promise.all(answers.map(async (each) => Buffer.from(await each.arrayBuffer())))
    recordings.push(Buffer.from(await (await fetch(url)).arrayBuffer()))
    for (const { status, headers } of answers) {
      expect([status, headers.get('content-type')]).toEqual([200, 'audio/mpeg'])
    }
    expect(new Set(recordings.map((each) => each.toString('base64'))).size).toBe(1)
    expect(gateway.vendor.speeches()).toHaveLength(calls + 1)
    expect(gateway.vendor.speeches().at(-1)).toMatchObject({ voice: 'nova' })
    expect(await recordOf(gateway)).toEqual({ ...before, files: [expect.stringContaining('voices/')] })
    const probing = promisify(execFile)('ffprobe', [
      ...['-v', 'error', '-i', 'pipe:0', '-show_entries', 'stream=codec_name', '-of', 'csv=p=0'],
    ])
    probing.child.stdin?.on('error', () => undefined).end(recordings[0])
    expect((await probing).stdout.trim()).toBe('mp3')
  })
})

test('a recording needs its own unchanged link', async () => {
  const voices = await voicesFor(key.text)
  const url = sampleOf(voices, 'echo')
  expectProblem(await ask(url.replace('/echo/', '/onyx/'), undefined), 'media_not_found')
  expectProblem(await ask(`${url}x`, undefined), 'media_not_found')
  expectProblem(await ask(url.replace(/\?.*/, ''), undefined), 'media_not_found')
  expect(gateway.vendor.speeches().filter(({ voice }) => voice === 'onyx')).toEqual([])
})

test('voices of an alias are listed under its name, with the recording that is configured', async () => {
  const sample = 'https://example.com/ash.mp3'
  const aliases = { 'tts-1': { voices: ['alloy', { name: 'ash', language: 'en', sample }] } }
  await using other = await startVendorGateway({}, { [speechModel]: { aliases } })
  const { postgres } = other.database
  const { text } = await createKey(postgres, await createAccount(postgres))
  const { body } = await ask(`${other.url}/v1/audio/voices`, text)
  const voices = body['data'] as Voice[]
  const named = { object: 'voice', language: null, gender: null }
  expect(voices.filter(({ models }) => models.includes('tts-1'))).toEqual([
    // The setting states nothing about this one, so it may be another voice than that of the model.
    { ...named, name: 'alloy', models: ['tts-1'], sample: expect.stringContaining('/tts-1/alloy/') },
    { ...named, name: 'ash', language: 'en', models: ['tts-1'], sample },
  ])
})

test('a recording that failed is not tried again at once', async () => {
  let calls = 0
  const server = createServer((_, response) => {
    calls += 1
    response.writeHead(500).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  await using broken = await startVendorGateway({}, {}, { baseUrl })
  const { postgres } = broken.database
  const { text } = await createKey(postgres, await createAccount(postgres))
  const { body } = await ask(`${broken.url}/v1/audio/voices`, text)
  const { pathname, search } = new URL((body['data'] as Voice[])[0]?.sample ?? '')
  expectProblem(await ask(`${broken.url}${pathname}${search}`, undefined), 'upstream_error')
  const before = calls
  expect(before).toBeGreaterThan(0)
  expectProblem(await ask(`${broken.url}${pathname}${search}`, undefined), 'upstream_error')
  expect(calls).toBe(before)
  server.close()
})

test('401 without a key', async () => {
  expectProblem(await ask(`${gateway.url}/v1/audio/voices`, undefined), 'missing_api_key')
})
