/** Aliases: other names of a model, under which it can accept other requests. Callers get the name that they used. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { ask, askJson, expectProblem } from '../kit/answers.ts'
import { dataOf, eventsIn, nextOf } from '../kit/event-reader.ts'
import { completeTask, createAccount, createKey, type TestKey } from '../kit/factories.ts'
import { createOperator, type Operator } from '../kit/operator.ts'
import { wave } from '../kit/sound.ts'
import { startVendorGateway, type VendorGateway } from '../kit/vendor-gateway.ts'

const speechModel = 'chat-4o-mini-tts-2025-12-15'

let gateway: VendorGateway
let operator: Operator
let accountId: string
let key: TestKey

beforeAll(async () => {
  gateway = await startVendorGateway(
    {},
    {
      'vidB-2': {
        aliases: {
          'clip-1': {
            sizes: ['1280x720', '1024x1792'],
            seconds: [4, 20],
            images: 1,
            imageRoles: ['reference'],
          },
          'clip-2': {},
        },
      },
      'asr-1': { aliases: { 'hear-1': {} } },
      [speechModel]: { aliases: { 'say-1': {} } },
      'chat-4o-audio-preview': { aliases: { 'talk-1': {} } },
    },
  )
  operator = await createOperator(gateway)
  accountId = await createAccount(gateway.database.postgres)
  key = await createKey(gateway.database.postgres, accountId)
})
afterAll(() => gateway[Symbol.asyncDispose]())

const order = { prompt: 'A whale', seconds: 4, size: '1280x720' }
const create = (body: object, text = key.text) =>
  askJson(`${gateway.url}/v1/videos`, text, { ...order, ...body })
const read = async (path: string, text = key.text) => (await ask(`${gateway.url}${path}`, text)).body
const modelsFor = async (text: string) => (await read('/v1/models', text))['data'] as { id: string }[]
const keyFor = (...models: string[]) => createKey(gateway.database.postgres, accountId, { models })

describe('what a model accepts under an alias', () => {
  test('sizes and durations are those of the alias, and those of the model under its id', async () => {
    expect((await create({ model: 'clip-1', size: '1024x1792', seconds: 20 })).status).toBe(200)
    expectProblem(await create({ model: 'clip-1', size: '480x480' }), 'invalid_parameter', 'size')
    expectProblem(await create({ model: 'clip-1', seconds: 8 }), 'invalid_parameter', 'seconds')
    for (const model of ['vidB-2', 'clip-2']) {
      expect((await create({ model, size: '480x480', seconds: 8 })).status).toBe(200)
      expectProblem(await create({ model, size: '1024x1792' }), 'invalid_parameter', 'size')
      expectProblem(await create({ model, seconds: 20 }), 'invalid_parameter', 'seconds')
    }
  })

  test('the number of images is that of the alias', async () => {
    const images = ['https://example.com/1.png', 'https://example.com/2.png']
    const answer = await askJson(`${gateway.url}/v1/video/create`, key.text, {
      ...{ model: 'clip-1', prompt: 'A whale', images },
    })
    expectProblem(answer, 'invalid_parameter', 'images')
    expect(answer.body).toMatchObject({ error: { message: expect.stringContaining('1') } })
  })
})

describe('the name in responses', () => {
  test('a video has the name of its request wherever it is shown, and so has its remix', async () => {
    const { body: created } = await create({ model: 'clip-1' })
    const id = String(created['id'])
    expect(created).toMatchObject({ model: 'clip-1', id: expect.stringMatching(/^clip-1:\d{10}-/) })
    expect(await read(`/v1/videos/${id}`)).toHaveProperty('model', 'clip-1')
    const listed = (await read('/v1/videos'))['data'] as { id: string; model: string }[]
    expect(listed.find((video) => video.id === id)).toHaveProperty('model', 'clip-1')
    expect(await read(`/openai/v1/videos/${id}`)).toHaveProperty('model', 'clip-1')
    expect((await create({ model: 'clip-1', dry_run: true })).body).toHaveProperty('model', 'clip-1')

    await completeTask(gateway, accountId, id)
    await expect.poll(async () => (await read(`/v1/videos/${id}`))['status']).toBe('completed')
    const remix = await askJson(`${gateway.url}/v1/videos/${id}/remix`, key.text, { prompt: 'At night' })
    expect(remix.body['id']).toMatch(/^clip-1:remix-/)
    expect(await read(`/v1/videos/${String(remix.body['id'])}`)).toHaveProperty('model', 'clip-1')

    expect(await read(`/v1/receipts/${id}`)).toHaveProperty('model', 'clip-1')
    await ask(`${gateway.url}/v1/videos/${id}`, key.text, { method: 'DELETE' })
    expect(await read(`/v1/receipts/${id}`)).toMatchObject({ status: 'completed', model: 'clip-1' })
  })

  test('operators have the model, which has the routes and prices', async () => {
    const { body } = await create({ model: 'clip-2' })
    const task = await operator.ask('getTask', { id: String(body['id']) })
    expect(task.body).toHaveProperty('model', 'vidB-2')
  })

  test('a chat has the name of its request', async () => {
    const chat = { model: 'clip-1', stream: true, messages: [{ role: 'user', content: 'A whale' }] }
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key.text}`, 'content-type': 'application/json' },
      body: JSON.stringify(chat),
    })
    const events = eventsIn(response.body)
    expect(dataOf(await nextOf(events))).toMatchObject({
      model: 'clip-1',
      choices: [{ delta: { content: expect.stringMatching(/^task_id: clip-1:/) } }],
    })
    await events.return(undefined)
  })

  test('errors name the model as the request did', async () => {
    const messages = [{ role: 'user', content: 'word '.repeat(130_000) }]
    const tooLong = await askJson(`${gateway.url}/v1/chat/completions`, key.text, {
      model: 'talk-1',
      messages,
    })
    expectProblem(tooLong, 'context_length_exceeded', 'messages')
    expect(tooLong.body).toMatchObject({ error: { message: expect.stringContaining("'talk-1'") } })
    const speech = { model: 'say-1', voice: 'nobody', input: 'Hello' }
    const unspoken = await askJson(`${gateway.url}/v1/audio/speech`, key.text, speech)
    expectProblem(unspoken, 'voice_not_supported', 'voice')
    expect(unspoken.body).toMatchObject({ error: { message: expect.stringContaining('a voice of say-1.') } })
  })

  test('the receipt of a speech and a transcription task have the name of their request', async () => {
    const speech = await fetch(`${gateway.url}/v1/audio/speech`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key.text}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'say-1', voice: 'alloy', input: 'Hello' }),
    })
    await speech.arrayBuffer()
    expect(speech.status).toBe(200)
    const requestId = speech.headers.get('x-request-id') ?? ''
    expect(await read(`/v1/receipts/${requestId}`)).toHaveProperty('model', 'say-1')

    const data = new FormData()
    data.append('model', 'hear-1')
    data.append('file', new Blob([wave(1)]), 'a.wav')
    const url = `${gateway.url}/v1/audio/transcription-tasks`
    const { body } = await ask(url, key.text, { method: 'POST', body: data })
    expect(body).toHaveProperty('model', 'hear-1')
    const id = String(body['id'])
    expect(await read(`/v1/audio/transcription-tasks/${id}`)).toHaveProperty('model', 'hear-1')
    expect(await read(`/v1/receipts/${id}`)).toHaveProperty('model', 'hear-1')
  })
})

describe('the list of models', () => {
  test('an alias follows its model, with what is different under that name', async () => {
    const ofFirst = [
      { size: '1280x720', width: 1280, height: 720 },
      { size: '1024x1792', width: 1024, height: 1792 },
    ]
    const models = await modelsFor(key.text)
    const ids = models.map(({ id }) => id)
    const at = ids.indexOf('vidB-2')
    expect(ids.slice(at, at + 4)).toEqual(['vidB-2', 'clip-1', 'clip-2', 'vidB-2-pro'])
    const [model, first, second] = models.slice(at)
    expect(model).toMatchObject({ aliases: ['clip-1', 'clip-2'], images: { max: 3, roles: ['style'] } })
    expect(model).not.toHaveProperty('alias_of')
    expect(first).toEqual({
      ...{ ...model, id: 'clip-1', alias_of: 'vidB-2', aliases: [] },
      ...{ seconds: { values: [4, 20], min: 4, max: 20 }, durations: [4, 20] },
      ...{ sizes: ofFirst, frames: ofFirst },
      images: { max: 1, roles: ['reference'] },
    })
    expect(second).toEqual({ ...model, id: 'clip-2', alias_of: 'vidB-2', aliases: [] })
    expect(await read('/v1/models/clip-1')).toEqual(first)
  })
})

describe('keys with a list of models', () => {
  test('a key for an alias may use that name only', async () => {
    const { text } = await keyFor('clip-1', 'say-1')
    expect((await modelsFor(text)).map(({ id }) => id)).toEqual(['clip-1', 'say-1'])
    expect((await create({ model: 'clip-1' }, text)).status).toBe(200)
    for (const model of ['vidB-2', 'clip-2']) {
      expectProblem(await create({ model }, text), 'model_access_denied', 'model')
      expectProblem(await ask(`${gateway.url}/v1/models/${model}`, text), 'model_access_denied', 'model')
    }
    const { data } = (await read('/v1/audio/voices', text)) as { data: { models: string[] }[] }
    expect(new Set(data.flatMap(({ models }) => models))).toEqual(new Set(['say-1']))
  })

  test('a key for a model may use it under every name', async () => {
    const { text } = await keyFor('vidB-2')
    expect((await modelsFor(text)).map(({ id }) => id)).toEqual(['vidB-2', 'clip-1', 'clip-2'])
    for (const model of ['vidB-2', 'clip-1', 'clip-2'])
      expect((await create({ model }, text)).status).toBe(200)
  })

  test('operators may name aliases, but no unknown names', async () => {
    const body = { kind: 'payg', name: 'for an alias', models: ['clip-1'] }
    const { key: made } = (await operator.call('createKey', { id: accountId, body })) as {
      key: { models: string[] }
    }
    expect(made.models).toEqual(['clip-1'])
    expectProblem(
      await operator.ask('createKey', { id: accountId, body: { ...body, models: ['clip-1', 'clip-9'] } }),
      'invalid_parameter',
      'models[1]',
    )
  })
})

describe('settings of an alias in the admin API', () => {
  const settings = {
    ...{ kind: 'video', family: 'B', seconds: [3], sizes: ['640x360'] },
    prices: [{ unit: 'second', micros: 1 }],
  }
  const set = (aliases: object) =>
    operator.ask('setModelEntry', { id: 'film-1', body: { settings: { ...settings, aliases } } })

  test('have the names of the settings of models, and are shown as they were set', async () => {
    const aliases = { 'film-long': { seconds_min: 10, seconds_max: 20, image_roles: ['reference'] } }
    expect((await set(aliases)).status).toBe(200)
    expect(await operator.call('getModelEntry', { id: 'film-1' })).toHaveProperty('settings.aliases', aliases)
    expect(await read('/v1/models/film-long')).toMatchObject({
      ...{ seconds: { values: null, min: 10, max: 20 }, images: { roles: ['reference'] } },
    })
  })

  test.each([
    [{ 'film-2': { size: ['640x360'] } }, 'settings.aliases.film-2.size', 'sizes'],
    [{ 'film-2': { sizes: ['wide'] } }, 'settings.aliases.film-2.sizes[0]', 'size_names'],
    [{ 'film-2': { seconds_min: 9, seconds_max: 3 } }, 'settings.aliases.film-2.seconds_max', 'seconds_min'],
    [{ 'film-2': { voices: ['Ann'] } }, 'settings.aliases.film-2.voices', 'not a setting'],
  ])('that are wrong are rejected: %j', async (aliases, param, text) => {
    const answer = await set(aliases)
    expectProblem(answer, 'invalid_parameter', param)
    expect(answer.body).toMatchObject({ error: { message: expect.stringContaining(text) } })
  })
})
