import type { ApiError } from '@kinora/contract/errors'
import fc from 'fast-check'
import { expect, test } from 'vitest'

import { configuredModels, referenceCatalog } from '../../test/kit/reference-catalog.ts'
import { createCatalog } from './catalog.ts'
import { deprecationHeaders } from './deprecation.ts'
import { presentModel } from './present-model.ts'

test('every model of the reference has an endpoint and is found by its id', () => {
  const models = referenceCatalog().available()
  expect(models).toHaveLength(23)
  for (const model of models) {
    expect(model.endpoints).not.toEqual([])
    expect(referenceCatalog().find(model.id)).toEqual(model)
  }
})

test('any unknown name is model_not_found', () => {
  const catalog = referenceCatalog()
  const known = new Set(catalog.available().map(({ id }) => id))
  fc.assert(
    fc.property(
      fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('__proto__', 'constructor', '')),
      (id) => {
        fc.pre(!known.has(id))
        let thrown: unknown
        try {
          catalog.find(id)
        } catch (error) {
          thrown = error
        }
        expect((thrown as ApiError).code).toBe('model_not_found')
        expect((thrown as ApiError).param).toBe('model')
      },
    ),
  )
})

test('a retired model is neither served nor suggested', () => {
  const catalog = referenceCatalog({ 'vidB-2': { state: 'retired' } })
  expect(() => catalog.find('vidB2')).toThrow(/Did you mean vidB-2-pro\?/)
  expect(() => catalog.find('vidB-2')).toThrow(/has been retired/)
  expect(() => catalog.videoModelFor('/v1/videos', 'vidA2')).toThrow(
    /Use POST \/v1\/video\/create, or one of: vidA_3_1, vidA_3_1-fast, vidB-2-pro\./,
  )
})

test('a model is retired on its shutdown date, without another change', () => {
  const models = configuredModels({
    'vidB-2': { state: 'deprecated', shutdownDate: '2027-01-31', successor: 'vidA2' },
  })
  let nowMs = Date.parse('2027-01-30T23:59:59Z')
  const catalog = createCatalog(
    () => models,
    () => nowMs,
  )
  expect(catalog.find('vidB-2').id).toBe('vidB-2')
  expect(catalog.servedBy('/v1/videos').map(({ id }) => id)).toContain('vidB-2')
  nowMs += 1_000
  expect(() => catalog.find('vidB-2')).toThrow('has been retired. Use vidA2 instead.')
  expect(catalog.available().map(({ id }) => id)).not.toContain('vidB-2')
  expect(catalog.servedBy('/v1/videos').map(({ id }) => id)).not.toContain('vidB-2')
})

const call = { publicUrl: 'https://media.example/api' }

test('a deprecated model without a shutdown date has no Sunset header', () => {
  const model = referenceCatalog({ 'vidB-2': { state: 'deprecated' } }).find('vidB-2')
  expect(deprecationHeaders(model, call)).toEqual({
    deprecation: `@${model.created}`,
    link: '<https://media.example/api/v1/models/vidB-2>; rel="deprecation"',
  })
  expect(presentModel(model, { engine: undefined, prices: [], currency: 'USD' })).not.toHaveProperty(
    'shutdown_date',
  )
})

test('a model with a shutdown date has a Sunset header, and links to itself and its successor', () => {
  const dates = { deprecationDate: '2026-09-09', shutdownDate: '2099-01-31' }
  const headersOf = (change: object) =>
    deprecationHeaders(referenceCatalog({ 'vidB-2': change }).find('vidB-2'), call)
  const own = '<https://media.example/api/v1/models/vidB-2>'
  expect(headersOf({ ...dates, state: 'deprecated', successor: 'vidA2' })).toEqual({
    deprecation: '@1788912000',
    sunset: 'Sat, 31 Jan 2099 00:00:00 GMT',
    link: `${own}; rel="deprecation sunset", <https://media.example/api/v1/models/vidA2>; rel="successor-version"`,
  })
  expect(headersOf({ shutdownDate: dates.shutdownDate })).toEqual({
    sunset: 'Sat, 31 Jan 2099 00:00:00 GMT',
    link: `${own}; rel="sunset"`,
  })
  expect(headersOf({})).toEqual({})
})

test('a change takes effect at once, and so does its removal', () => {
  let models = configuredModels({ 'vidB-2': { state: 'retired', prices: [{ unit: 'second', micros: 3 }] } })
  const catalog = createCatalog(() => models)
  expect(() => catalog.find('vidB-2')).toThrow('has been retired')
  expect(catalog.available().map(({ id }) => id)).not.toContain('vidB-2')
  models = configuredModels()
  expect(catalog.find('vidB-2')).toEqual(referenceCatalog().find('vidB-2'))
})

const voice = (name: string) => ({ name, language: null, gender: null, sample: null })

test('a model is found by its aliases, and has its own voices under each', () => {
  const aliases = { 'tts-1': { voices: ['nova', { name: 'coral', gender: 'female' }] }, 'tts-1-hd': {} }
  const catalog = referenceCatalog({ 'ttsB-3.1-flash-tts-preview': { aliases } })
  const { voices } = catalog.speechModelFor('/v1/audio/speech', 'ttsB-3.1-flash-tts-preview')
  const { id, voices: ofAlias } = catalog.speechModelFor('/v1/audio/speech', 'tts-1')
  expect({ id, ofAlias }).toEqual({
    id: 'ttsB-3.1-flash-tts-preview',
    ofAlias: [voice('nova'), { ...voice('coral'), gender: 'female' }],
  })
  expect(catalog.speechModelFor('/v1/audio/speech', 'tts-1-hd').voices).toEqual(voices)
  expect(catalog.available().map((model) => model.id)).not.toContain('tts-1')
})

test('an error lists at most ten models, those most like the requested one first', () => {
  const clips = Object.fromEntries(
    Array.from({ length: 2_000 }, (_, index) => [
      `clip-${index}`,
      {
        ...{ kind: 'video', family: 'A', prices: [{ unit: 'second', micros: 1 }], durations: [8] },
        endpoints: [index === 777 ? '/v1/chat/completions' : '/v1/video/create'],
      },
    ]),
  )
  const catalog = referenceCatalog(clips)
  const served = catalog.servedBy('/v1/video/create').length
  expect(() => catalog.videoModelFor('/v1/video/create', 'clip-777')).toThrow(
    `Use POST /v1/chat/completions, or one of: clip-77, clip-770, clip-771, clip-772, clip-773, clip-774, clip-775, clip-776, clip-778, clip-779 and ${served - 10} more, see GET /v1/models.`,
  )
})
