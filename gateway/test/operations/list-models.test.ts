import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { ask, askJson, expectProblem, form } from '../kit/answers.ts'
import { createAccount, createKey, type TestKey } from '../kit/factories.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'

// Nothing listens on this port, so no engines are reported.
const withoutLocal = { LOCAL_URL: 'http://127.0.0.1:9' }

let gateway: TestGateway
let accountId: string
let key: TestKey

beforeAll(async () => {
  gateway = await startGateway(withoutLocal)
  accountId = await createAccount(gateway.database.postgres)
  key = await createKey(gateway.database.postgres, accountId)
})
afterAll(() => gateway[Symbol.asyncDispose]())

// The list of the reference, deliberately not derived from the catalog.
const everyModel = [
  'vidA2',
  'vidA2-fast',
  'vidA2-pro',
  'vidA2-fast-frames',
  'vidA2-fast-components',
  'vidA3',
  'vidA3-fast',
  'vidA3-pro',
  'vidA3-pro-frames',
  'vidA3.1',
  'vidA3.1-fast',
  'vidA_3_1',
  'vidA_3_1-fast',
  'vidB-2',
  'vidB-2-pro',
  'asr-1',
  'asr-large-v3',
  'asr-large-v3-turbo',
  'chat-4o-mini-transcribe',
  'chat-4o-transcribe',
  'chat-4o-mini-tts-2025-12-15',
  'ttsB-3.1-flash-tts-preview',
  'chat-4o-audio-preview',
]

// The endpoints of the reference, plus transcription tasks, which are not in the reference.
const created = ['/v1/video/create']
const ofVideos = ['/v1/videos']
const ofFamilyB = ['/v1/videos', '/v1/video/create', '/v1/chat/completions']
const transcribed = ['/v1/audio/transcriptions', '/v1/audio/transcription-tasks']
const translated = ['/v1/audio/transcriptions', '/v1/audio/translations', '/v1/audio/transcription-tasks']
const speech = ['/v1/audio/speech']
const endpointsOf: Record<string, string[]> = {
  ...Object.fromEntries(everyModel.slice(0, 11).map((id) => [id, created])),
  ...{ vidA_3_1: ofVideos, 'vidA_3_1-fast': ofVideos, 'vidB-2': ofFamilyB, 'vidB-2-pro': ofFamilyB },
  ...{ 'asr-1': translated, 'asr-large-v3': translated, 'asr-large-v3-turbo': translated },
  ...{ 'chat-4o-mini-transcribe': transcribed, 'chat-4o-transcribe': transcribed },
  ...{ 'chat-4o-mini-tts-2025-12-15': speech, 'ttsB-3.1-flash-tts-preview': speech },
  'chat-4o-audio-preview': ['/v1/chat/completions'],
}
const endpoints = [...new Set(Object.values(endpointsOf).flat())]

const voicesOfA = ['alloy', 'echo', 'fable', 'onyx', 'nova', 'shimmer']
const voicesOf: Record<string, string[]> = {
  'chat-4o-mini-tts-2025-12-15': voicesOfA,
  'chat-4o-audio-preview': voicesOfA,
  'ttsB-3.1-flash-tts-preview': ['Aoede', 'Charon', 'Fenrir', 'Kore', 'Puck'],
}

const lengths = [4, 8, 10, 12, 15, 25]
const square = (side: number) => ({ size: `${side}x${side}`, width: side, height: side })
const portrait = { size: '720x1280', width: 720, height: 1280 }
const frames = ['1280x720', '720x1280', '1920x1080', '1080x1920'].map((size) => {
  const [width, height] = size.split('x').map(Number)
  return { size, width, height }
})
const ofB = {
  ...{ seconds: { values: lengths, min: 4, max: 25 }, durations: [10, 15, 25], frames },
  sizes: [portrait, { size: '1280x720', width: 1280, height: 720 }, square(480), square(1080)],
}
const ofA = {
  seconds: { values: null, min: 1, max: 60 },
  sizes: [{ size: '16x9', width: 1280, height: 720 }, portrait],
}
/** What a client needs to build a valid request. */
const parametersOf: Record<string, object> = {
  ...Object.fromEntries(everyModel.slice(0, 5).map((id) => [id, { durations: [8], frames }])),
  ...Object.fromEntries(
    everyModel.slice(5, 11).map((id) => [id, { durations: [8], frames, aspect_ratios: ['16:9', '9:16'] }]),
  ),
  ...{ vidA_3_1: ofA, 'vidA_3_1-fast': ofA, 'vidB-2': ofB, 'vidB-2-pro': ofB },
}

interface Listed {
  id: string
  [member: string]: unknown
}

const list = async (text = key.text, url = gateway.url): Promise<Listed[]> => {
  const { status, body } = await ask(`${url}/v1/models`, text)
  expect(status).toBe(200)
  expect(body['object']).toBe('list')
  expect(Object.keys(body).toSorted()).toEqual(['data', 'object'])
  return body['data'] as Listed[]
}

describe('200', () => {
  test('lists exactly the models of the reference, in a stable order', async () => {
    const ids = (await list()).map(({ id }) => id)
    expect(ids).toEqual(everyModel)
    expect((await list()).map(({ id }) => id)).toEqual(ids)
  })

  test('each model has the fields of client libraries and its endpoints', async () => {
    for (const { voices, ...model } of await list()) {
      expect(voices).toEqual(voicesOf[model.id])
      expect(model).toEqual({
        id: expect.any(String),
        object: 'model',
        created: expect.any(Number),
        owned_by: 'kinora',
        endpoints: expect.arrayContaining([expect.stringMatching(/^\/v1\//)]),
        ...{ aliases: [], state: 'active' },
        kind: expect.stringMatching(/^(?:video|speech|transcription|chat)$/),
        prices: expect.arrayContaining([expect.objectContaining({ resolution: null, currency: 'USD' })]),
        ...(model['kind'] === 'video' && {
          images: { max: expect.any(Number), roles: expect.any(Array) },
          ...{ sound: 'always', reference_video: false, reference_audio: false },
        }),
        ...parametersOf[model.id],
      })
      expect(Number.isInteger(model['created'])).toBe(true)
    }
    const endpointsOf = Object.fromEntries((await list()).map(({ id, endpoints }) => [id, endpoints]))
    expect(endpointsOf['vidA_3_1']).toEqual(['/v1/videos'])
    expect(endpointsOf['vidA3.1']).toEqual(['/v1/video/create'])
    expect(endpointsOf['chat-4o-transcribe']).toEqual([
      '/v1/audio/transcriptions',
      '/v1/audio/transcription-tasks',
    ])
    expect(endpointsOf['asr-1']).toContain('/v1/audio/translations')
  })

  test('lists only the models that the key may use, in the order of the catalog', async () => {
    const { postgres } = gateway.database
    const some = await createKey(postgres, accountId, { models: ['asr-1', 'vidB-2', 'no-such-model'] })
    expect((await list(some.text)).map(({ id }) => id)).toEqual(['vidB-2', 'asr-1'])
    const none = await createKey(postgres, accountId, { models: [] })
    expect(await list(none.text)).toEqual([])
  })

  test('a deprecated model has a shutdown date; a retired one is not listed', async () => {
    const file = join(gateway.directory, 'providers.yaml')
    await writeFile(
      file,
      'models: {vidB-2: {state: deprecated, shutdownDate: 2027-01-01}, asr-1: {state: retired}}',
    )
    await using later = await startGateway({ ...withoutLocal, PROVIDERS_FILE: file }, gateway)
    const models = await list(key.text, later.url)
    expect(models.map(({ id }) => id)).toEqual(everyModel.filter((id) => id !== 'asr-1'))
    expect(models.find(({ id }) => id === 'vidB-2')).toHaveProperty('shutdown_date', '2027-01-01')
    expect(models.filter((model) => 'shutdown_date' in model)).toHaveLength(1)
  })

  test('a model names its engine if the built-in provider reports it', async () => {
    const engine = { engine: 'whisper-tiny', wanted: 'whisper-base', quality: 'Fair for clear English.' }
    const pull = 'kinora models pull recognition'
    const server = createServer((_, response) => {
      response.end(JSON.stringify({ 'asr-1': { ...engine, pull }, 'vidB-2': engine }))
    })
    await new Promise<void>((resolve) => server.listen({ host: '127.0.0.1', port: 0 }, resolve))
    const local = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    await using telling = await startGateway({ LOCAL_URL: local }, gateway)
    const { engine: name, ...rest } = engine
    const readModels = () => list(key.text, telling.url)
    // The gateway asks again if it got no answer in time.
    await expect
      .poll(async () => (await readModels()).find(({ id }) => id === 'asr-1'))
      .toHaveProperty('engine', { name, ...rest, pull })
    const models = await readModels()
    expect(models.filter((model) => 'engine' in model)).toHaveLength(1)
    expect((await ask(`${telling.url}/v1/models/asr-1`, key.text)).body).toHaveProperty('engine.name', name)
    server.close()
    server.closeAllConnections()
  })
})

describe('200, endpoints', () => {
  test('each model has exactly the endpoints of the reference', async () => {
    const listed = (await list()).map(({ id, endpoints: named }) => [id, named])
    expect(Object.fromEntries(listed)).toEqual(endpointsOf)
  })

  test.each(endpoints)('%s serves exactly the models that list it', async (endpoint) => {
    const isForm = endpoint.startsWith('/v1/audio/trans')
    const url = `${gateway.url}${endpoint}`
    for (const model of everyModel) {
      const answer = isForm
        ? await ask(url, key.text, { method: 'POST', body: form({ model }) })
        : await askJson(url, key.text, { model })
      if (endpointsOf[model]?.includes(endpoint)) {
        // The request contains only a model, so the next missing parameter shows that the model was accepted.
        expect(answer.body).toMatchObject({ error: { code: 'missing_parameter' } })
        expect(answer.body).not.toMatchObject({ error: { param: 'model' } })
      } else expectProblem(answer, 'invalid_parameter', 'model')
    }
  })
})
