/** A running gateway follows changes of the providers file. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import OpenAI, { toFile } from 'openai'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { startVendor, type Vendor } from '../../../dev/vendor/vendor.ts'
import { ask, askJson } from '../kit/answers.ts'
import { createAccount, createKey } from '../kit/factories.ts'
import { wave } from '../kit/sound.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'

let directory: string
let file: string
let vendor: Vendor
let gateway: TestGateway
let key: string

const write = (models: Record<string, unknown>) =>
  writeFile(
    file,
    JSON.stringify({
      providers: {
        // No server listens there.
        nobody: { kind: 'openai', baseUrl: 'http://127.0.0.1:9', apiKey: 'sk-none' },
        vendor: { kind: 'openai', baseUrl: vendor.url, apiKey: 'sk-vendor' },
      },
      models,
    }),
  )

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kinora-reload-'))
  file = join(directory, 'providers.yaml')
  vendor = await startVendor({ apiKey: 'sk-vendor' })
  await write({})
  gateway = await startGateway({ PROVIDERS_FILE: file })
  const accountId = await createAccount(gateway.database.postgres, { balance: 10_000_000 })
  key = (await createKey(gateway.database.postgres, accountId)).text
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await vendor.close()
  await rm(directory, { recursive: true })
})

const idsOffered = async () => {
  const { body } = await ask(`${gateway.url}/v1/models`, key)
  return (body['data'] as { id: string }[]).map(({ id }) => id)
}
const quote = async () => {
  const order = { model: 'vidB-2', prompt: 'a quiet harbour', seconds: '4', size: '480x480' }
  const { body } = await askJson(`${gateway.url}/v1/videos?dry_run=true`, key, order)
  return body['total_micros']
}
const statusOfSpeech = async () => {
  const response = await fetch(`${gateway.url}/v1/audio/speech`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'chat-4o-mini-tts-2025-12-15', input: 'hello', voice: 'alloy' }),
    signal: AbortSignal.timeout(120_000),
  })
  await response.arrayBuffer()
  return response.status
}

test('price, state and route of a model follow the file without a restart', async () => {
  expect(await idsOffered()).toContain('vidA2')
  const before = await quote()
  expect(await statusOfSpeech()).toBeGreaterThanOrEqual(500)

  await write({
    'vidB-2': { prices: [{ unit: 'second', micros: 11 }] },
    vidA2: { state: 'retired', successor: 'vidA3' },
    'chat-4o-mini-tts-2025-12-15': { routes: [{ provider: 'vendor' }] },
  })
  await expect.poll(idsOffered).not.toContain('vidA2')
  expect(before).not.toBe(44)
  expect(await quote()).toBe(44)
  expect(await statusOfSpeech()).toBe(200)
})

test('models that the file adds are used by the official client library, until they are removed', async () => {
  const routes = [{ provider: 'vendor' }]
  await write({
    'clip-7': {
      ...{
        kind: 'video',
        family: 'B',
        seconds: [3],
        sizes: ['640x360'],
        prices: [{ unit: 'second', micros: 9 }],
        routes,
      },
      aliases: { 'sora-7': {} },
    },
    'say-7': {
      kind: 'speech',
      voices: ['Ann'],
      prices: [{ unit: 'million_characters', micros: 9 }],
      aliases: { 'tts-7': {} },
      routes,
    },
    'hear-7': {
      kind: 'transcription',
      prices: [{ unit: 'minute', micros: 9 }],
      aliases: { 'whisper-7': {} },
      routes,
    },
  })
  await expect.poll(idsOffered).toEqual(expect.arrayContaining(['clip-7', 'say-7', 'hear-7']))
  const client = new OpenAI({ apiKey: key, baseURL: `${gateway.url}/openai/v1`, maxRetries: 0 })
  for (const model of ['clip-7', 'sora-7']) {
    const size = { seconds: '3', size: '640x360' } as object
    expect(await client.videos.create({ model, prompt: 'A whale', ...size })).toMatchObject({ model })
  }
  for (const model of ['say-7', 'tts-7']) {
    await (await client.audio.speech.create({ model, voice: 'Ann', input: 'Hello' })).arrayBuffer()
    expect(vendor.speeches().at(-1)).toMatchObject({ model: 'say-7', voice: 'Ann' })
  }
  for (const model of ['hear-7', 'whisper-7']) {
    const file = await toFile(wave(1), 'a.wav')
    expect((await client.audio.transcriptions.create({ model, file })).text).toContain('vendor transcript')
  }
  await write({})
  await expect.poll(idsOffered).not.toContain('clip-7')
  await expect(client.models.retrieve('sora-7')).rejects.toMatchObject({
    status: 404,
    code: 'model_not_found',
  })
})
