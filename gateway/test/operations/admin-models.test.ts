/** Models that the code does not know, added, changed and deleted with the admin API while the service runs. */
import OpenAI, { toFile } from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { ask, askJson, expectProblem } from '../kit/answers.ts'
import { createAccount, createKey, endTask, type TestKey } from '../kit/factories.ts'
import { createOperator, readAll, type Operator } from '../kit/operator.ts'
import { wave } from '../kit/sound.ts'
import { startVendorGateway, type VendorGateway } from '../kit/vendor-gateway.ts'
import { withoutIntervals } from '../kit/without-intervals.ts'

let gateway: VendorGateway
let operator: Operator
let key: TestKey
let client: OpenAI

beforeAll(async () => {
  gateway = await withoutIntervals(() => startVendorGateway({}, { 'vidB-2': { usualSeconds: 77 } }))
  operator = await createOperator(gateway)
  key = await createKey(gateway.database.postgres, await createAccount(gateway.database.postgres))
  client = new OpenAI({ apiKey: key.text, baseURL: `${gateway.url}/openai/v1`, maxRetries: 0 })
})
afterAll(() => gateway[Symbol.asyncDispose]())

const video = {
  ...{ kind: 'video', family: 'B', seconds: [3, 6], sizes: ['640x360', '360x640'] },
  ...{ prices: [{ unit: 'second', micros: 250_000 }], routes: [{ provider: 'vendor', model: 'acme-clip' }] },
}
const speech = {
  kind: 'speech',
  voices: ['Ann', 'Bob'],
  prices: [{ unit: 'million_characters', micros: 9_000_000 }],
}
const transcription = { kind: 'transcription', prices: [{ unit: 'minute', micros: 12_000 }] }

const set = (id: string, settings: object) => operator.call('setModelEntry', { id, body: { settings } })
const refusal = (id: string, settings: unknown) => operator.ask('setModelEntry', { id, body: { settings } })
const find = (id: string) => operator.call('getModelEntry', { id })
const remove = (id: string) => operator.call('deleteModelEntry', { id })
const order = (body: object) => askJson(`${gateway.url}/v1/videos`, key.text, { prompt: 'A whale', ...body })
const offered = async () => (await client.models.list()).data.map(({ id }) => id)
const auditOf = async (target: string) =>
  (await operator.call('listAuditEntries', { query: { target } })).data as { action: string }[]

describe('an added model', () => {
  test('makes videos under its id and its alias, with its own durations, sizes and price', async () => {
    await set('clip-1', { ...video, aliases: { 'sora-9': {} } })
    expect(await offered()).toContain('clip-1')
    const created = await client.videos.create({
      ...{ model: 'sora-9', prompt: 'A whale' },
      ...({ seconds: '6', size: '640x360' } as object),
    })
    expect(created).toMatchObject({ model: 'sora-9', seconds: '6', size: '640x360', status: 'queued' })
    const quote = await order({ model: 'clip-1', seconds: 3, size: '360x640', dry_run: true })
    expect(quote.body).toMatchObject({ object: 'quote', model: 'clip-1', total_micros: 750_000 })
    expectProblem(
      await order({ model: 'clip-1', seconds: 4, size: '640x360' }),
      'invalid_parameter',
      'seconds',
    )
    const answer = await order({ model: 'sora-9', seconds: 3, size: '1280x720' })
    expectProblem(answer, 'invalid_parameter', 'size')
    expect(JSON.stringify(answer.body)).toContain('640x360')
  })

  test('has prices by resolution, sound and input, and a price of images', async () => {
    const prices = [
      { unit: 'second', micros: 10 },
      { unit: 'second', micros: 8, sound: false },
      { unit: 'second', micros: 6, resolution: '180p' },
      { unit: 'call', micros: 5, resolution: '180p', input: 'image' },
      { unit: 'image', micros: 3 },
    ]
    const sizes = { sizes: ['640x360', '320x180'], sound: 'optional' }
    const routes = [
      { provider: 'vendor', costs: [{ unit: 'second', micros: 4 }] },
      { provider: 'vendor', model: 'other', order: 2 },
    ]
    await set('clip-8', { ...video, ...sizes, prices, routes })
    const explain = (body: object) => operator.call('explainModelRoutes', { id: 'clip-8', body })
    expect(await explain({ seconds: 3, images: 2 })).toMatchObject({
      ...{
        request: { seconds: 3, size: '640x360', sound: true, images: 2 },
        price_micros: 36,
        currency: 'USD',
      },
      routes: [
        { model: 'clip-8', share: 1, reason: 'order 1', cost_micros: 12, margin_micros: 24 },
        { model: 'other', share: 0, reason: 'routes of order 1 are used first', cost_micros: null },
      ],
    })
    expect(await explain({ size: '320x180', images: 1 })).toMatchObject({ price_micros: 5 + 3 })
    expect(await explain({ size: '180x320' })).toMatchObject({ price_micros: 18 })
    expect(await explain({ sound: false })).toMatchObject({
      ...{ price_micros: 24, routes: [{ share: 0, reason: 'cannot make video without sound' }, {}] },
    })
    // This vendor has no such parameter, so nothing is promised that it does not keep.
    const silent = { model: 'clip-8', seconds: 3, size: '640x360', sound: false }
    const refused = await order(silent)
    expectProblem(refused, 'invalid_parameter', 'size')
    expect(JSON.stringify(refused.body)).toContain('without sound')
    const { body } = await order({ ...silent, sound: true, dry_run: true })
    expect(body).toMatchObject({ total_micros: 30, parameters: { sound: true } })
    const { body: shown } = await ask(`${gateway.url}/v1/models/clip-8`, key.text)
    const anything = { resolution: null, sound: null, input: null, currency: 'USD' }
    expect(shown).toMatchObject({
      ...{ sound: 'optional', images: { max: 1, roles: ['style'] } },
      prices: prices.map(({ micros, ...rule }) => ({ ...anything, ...rule, unit_micros: micros })),
    })
    await operator.call('setPrice', {
      body: { model: 'clip-8', unit: 'second', unit_micros: 1, sound: false },
    })
    expect(await explain({ sound: false })).toMatchObject({ price_micros: 3 })
    expectProblem(
      await operator.ask('setPrice', {
        body: { model: 'asr-1', unit: 'minute', unit_micros: 1, sound: false },
      }),
      'invalid_parameter',
      'sound',
    )
  })

  test('speaks with its own voices, and with others under an alias', async () => {
    await set('say-1', { ...speech, aliases: { 'tts-9': { voices: ['Zoe'] } } })
    const say = (model: string, voice: string) => client.audio.speech.create({ model, voice, input: 'Hello' })
    for (const [model, voice] of [
      ['say-1', 'Ann'],
      ['tts-9', 'Zoe'],
    ] as const) {
      await (await say(model, voice)).arrayBuffer()
      expect(gateway.vendor.speeches().at(-1)).toMatchObject({ model: 'say-1', voice })
    }
    await expect(say('tts-9', 'Ann')).rejects.toMatchObject({ code: 'voice_not_supported', param: 'voice' })
    await expect(say('say-1', 'Zoe')).rejects.toThrow(/Ann, Bob/)
  })

  test('transcribes', async () => {
    await set('hear-1', { ...transcription, aliases: { 'whisper-9': {} } })
    for (const model of ['hear-1', 'whisper-9']) {
      const { text } = await client.audio.transcriptions.create({
        model,
        file: await toFile(wave(1), 'a.wav'),
      })
      expect(text).toContain('vendor transcript')
      expect(gateway.vendor.transcriptions().at(-1)).toMatchObject({ fields: { model: ['hear-1'] } })
    }
  })

  test('is retired on its date, and the error names its successor', async () => {
    const dates = { deprecation_date: '2026-09-09', shutdown_date: '2099-01-31' }
    await set('clip-old', { ...video, state: 'deprecated', ...dates, successor: 'vidB-2' })
    const accepted = await order({ model: 'clip-old', seconds: 3, size: '640x360' })
    expect(accepted.headers.get('deprecation')).toBe('@1788912000')
    expect(accepted.headers.get('sunset')).toContain('31 Jan 2099')
    await set('clip-old', { ...video, state: 'deprecated', shutdown_date: '2026-01-31', successor: 'vidB-2' })
    expect(await find('clip-old')).toMatchObject({ state: 'retired' })
    const refused = await order({ model: 'clip-old', seconds: 3, size: '640x360' })
    expectProblem(refused, 'model_not_found', 'model')
    expect(JSON.stringify(refused.body)).toContain('Use vidB-2 instead.')
    expect(await offered()).not.toContain('clip-old')
  })

  test('can be the only model of a key, by its id or an alias', async () => {
    await set('clip-3', { ...video, aliases: { 'clip-three': {} } })
    const account = await createAccount(gateway.database.postgres)
    const { text } = await createKey(gateway.database.postgres, account, { models: ['clip-3'] })
    const create = (model: string) =>
      askJson(`${gateway.url}/v1/videos`, text, { model, prompt: 'A whale', seconds: 3, size: '640x360' })
    expect((await create('clip-three')).status).toBe(200)
    expect((await create('clip-3')).status).toBe(200)
    expectProblem(await create('vidB-2'), 'model_access_denied', 'model')
  })
})

describe('the settings of a model', () => {
  test('come from the catalog, the file and the admin API, each changing the one before', async () => {
    expect(await find('vidA2')).toMatchObject({
      source: 'catalog',
      changed: [],
      problem: null,
      kind: 'video',
    })
    expect(await find('vidB-2')).toMatchObject({ source: 'file', settings: { usual_seconds: 77 } })
    const changed = await set('vidB-2', { prices: [{ unit: 'second', micros: 5 }] })
    expect(changed).toMatchObject({
      ...{ id: 'vidB-2', object: 'model.entry', source: 'record', changed: ['prices'] },
      settings: { usual_seconds: 77, prices: [{ unit: 'second', micros: 5 }], family: 'B' },
    })
    const { data } = await operator.call('listPrices', { query: { limit: 200 } })
    expect(data).toContainEqual(expect.objectContaining({ model: 'vidB-2', source: 'record' }))
    expect(await remove('vidB-2')).toEqual({ id: 'vidB-2', deleted: true, source: 'file' })
    expect(await find('vidB-2')).toMatchObject({
      source: 'file',
      settings: { prices: [{ unit: 'second', micros: 100_000 }] },
    })
    expect((await auditOf('vidB-2')).map(({ action }) => action)).toEqual([
      'deleteModelEntry',
      'setModelEntry',
    ])
  })

  test('are replaced as a whole, except for the routes', async () => {
    await set('clip-2', { ...video, description: 'Short clips.' })
    await set('clip-2', { ...video, routes: undefined })
    const { settings } = await find('clip-2')
    expect(settings).not.toHaveProperty('description')
    expect(settings).toMatchObject({ routes: [{ provider: 'vendor', model: 'acme-clip' }] })
  })

  test('are listed by id, page by page', async () => {
    const ids = (await readAll(operator, 'listModelEntries')).map(({ id }) => id as string)
    expect(ids).toEqual(ids.toSorted())
    expect(ids).toEqual(expect.arrayContaining(['asr-1', 'clip-2', 'vidA2', 'vidB-2']))
  })
})

describe('a refusal', () => {
  test.each([
    ['unknown settings', { ...video, colour: 'red' }, 'settings.colour', /is not a setting/],
    ['a missing price', { ...speech, prices: null }, 'settings.prices', /is required/],
    [
      'a price in scientific notation',
      { ...video, prices: [{ unit: 'second', micros: '1e9' }] },
      'settings.prices[0].micros',
      /not "1e9"; write it in decimal digits/,
    ],
    [
      'a cost in scientific notation',
      { ...video, routes: [{ provider: 'vendor', costs: [{ unit: 'second', micros: '1e3' }] }] },
      'settings.routes[0].costs[0].micros',
      /not "1e3"; write it in decimal digits/,
    ],
    ['another kind', { kind: 'film' }, 'settings.kind', /one of video, speech, transcription, chat/],
    ['no kind', { voices: ['Al'] }, 'id', /set its kind/],
    [
      'an unknown provider',
      { ...video, routes: [{ provider: 'vendr' }] },
      'settings.routes[0].provider',
      /did you mean vendor\?/,
    ],
    ['an unknown successor', { ...video, successor: 'vidB-3' }, 'settings.successor', /did you mean vidA3\?/],
    [
      'an alias that is an id',
      { ...video, aliases: { vidA2: {} } },
      'settings.aliases.vidA2',
      /cannot be a name of clip-x, because vidA2 is a model/,
    ],
    [
      'itself as the successor',
      { ...video, successor: 'clip-x' },
      'settings.successor',
      /another model, not the model itself/,
    ],
    ['a voice twice', { ...speech, voices: ['Ann', 'Bob', 'Ann'] }, 'settings.voices[2]', /is "Ann"/],
    [
      'a size that no route makes',
      { ...video, routes: [{ provider: 'vendor', sizes: ['640x360'] }] },
      'settings.sizes[1]',
      /360x640, which no route makes: add it to the sizes of a route/,
    ],
    ['settings that are no object', 7, 'settings', /must be an object/],
  ])('of %s names it and the fix', async (_, settings, param, message) => {
    const answer = await refusal('clip-x', settings)
    expectProblem(answer, 'invalid_parameter', param)
    expect((answer.body['error'] as { message: string }).message).toMatch(message)
    expectProblem(await operator.ask('getModelEntry', { id: 'clip-x' }), 'model_not_found', 'id')
  })

  test('of an alias or an id that another model has names both models', async () => {
    await set('clip-6', { ...video, aliases: { 'clip-six': {} } })
    const alias = await refusal('clip-x', { ...video, aliases: { 'clip-six': {} } })
    expectProblem(alias, 'invalid_parameter', 'settings.aliases.clip-six')
    expect(alias.body).toMatchObject({
      error: { message: expect.stringContaining('a name of both clip-6 and clip-x') },
    })
    const id = await refusal('clip-six', video)
    expectProblem(id, 'invalid_parameter', 'id')
    expect(id.body).toMatchObject({
      error: { message: expect.stringContaining('cannot be clip-six, because that is an alias of clip-6') },
    })
  })

  test('of a name for URLs', async () => {
    expectProblem(await refusal('acme/clip', video), 'invalid_parameter', 'id')
    expectProblem(await refusal('__proto__', video), 'invalid_parameter', 'id')
  })

  test('to delete a model that is in use, or that the admin API has not set', async () => {
    await set('clip-4', video)
    await set('clip-5', { ...video, successor: 'clip-4' })
    expectProblem(await operator.ask('deleteModelEntry', { id: 'clip-4' }), 'conflict')
    const { body } = await order({ model: 'clip-5', seconds: 3, size: '640x360' })
    const conflict = await operator.ask('deleteModelEntry', { id: 'clip-5' })
    expectProblem(conflict, 'conflict')
    expect(JSON.stringify(conflict.body)).toContain('1 task of clip-5 has not ended')
    await endTask(gateway.database.postgres, String(body['id']), {
      kind: 'failed',
      code: 'upstream_error',
      message: '',
    })
    expect(await remove('clip-5')).toEqual({ id: 'clip-5', deleted: true, source: null })
    expect(await remove('clip-4')).toEqual({ id: 'clip-4', deleted: true, source: null })
    expectProblem(await operator.ask('deleteModelEntry', { id: 'clip-4' }), 'model_not_found', 'id')
    expectProblem(await operator.ask('deleteModelEntry', { id: 'vidA2' }), 'conflict')
    expectProblem(await order({ model: 'clip-5', seconds: 3, size: '640x360' }), 'model_not_found', 'model')
  })
})

test('a task of a deleted model can still be read', async () => {
  await set('clip-6', video)
  const { body } = await order({ model: 'clip-6', seconds: 3, size: '640x360' })
  const id = String(body['id'])
  await endTask(gateway.database.postgres, id, { kind: 'failed', code: 'upstream_error', message: '' })
  await remove('clip-6')
  const read = await ask(`${gateway.url}/v1/videos/${id}`, key.text)
  expect(read.body).toMatchObject({ id, status: 'failed', model: 'clip-6' })
})
