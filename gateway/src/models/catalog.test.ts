import type { ApiError } from '@kinora/contract/errors'
import fc from 'fast-check'
import { expect, test } from 'vitest'

import { createCatalog, presentModel, type ModelChange } from './catalog.ts'
import { deprecationHeaders } from './deprecation.ts'

const unchanged = {
  state: undefined,
  shutdownDate: undefined,
  successor: undefined,
  pricePerSecondMicros: undefined,
}

test('model ids are unique, and every model has an endpoint', () => {
  const models = createCatalog().available()
  expect(new Set(models.map(({ id }) => id)).size).toBe(models.length)
  for (const model of models) {
    expect(model.endpoints).not.toEqual([])
    expect(createCatalog().find(model.id)).toEqual(model)
  }
})

test('every video model has a price and dimensions for every allowed size', () => {
  for (const model of createCatalog().available()) {
    if (model.kind !== 'video') continue
    expect(model.pricePerSecondMicros).toBeGreaterThan(0)
    if (model.form === undefined) continue
    const { enum: sizes } = (model.form.properties as Record<string, { enum: string[] }>)['size'] ?? {
      enum: [],
    }
    expect(Object.keys(model.dimensions).toSorted()).toEqual(sizes.toSorted())
  }
})

test('any unknown name is model_not_found', () => {
  const catalog = createCatalog()
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

test('an operator change affects only the given fields of the given model', () => {
  const catalog = createCatalog(() => ({ 'vidB-2': { ...unchanged, pricePerSecondMicros: 7 } }))
  expect(catalog.find('vidB-2')).toEqual({ ...createCatalog().find('vidB-2'), pricePerSecondMicros: 7 })
  expect(catalog.find('vidB-2-pro')).toEqual(createCatalog().find('vidB-2-pro'))
})

test('a retired model is neither served nor suggested', () => {
  const catalog = createCatalog(() => ({ 'vidB-2': { ...unchanged, state: 'retired' } }))
  expect(() => catalog.find('vidB2')).toThrow(/Did you mean vidB-2-pro\?/)
  expect(() => catalog.find('vidB-2')).toThrow(/has been retired/)
  expect(() => catalog.videoModelFor('/v1/videos', 'vidA2')).toThrow(
    /Use POST \/v1\/video\/create, or one of: vidA_3_1, vidA_3_1-fast, vidB-2-pro\./,
  )
})

test('a deprecated model without a shutdown date has no Sunset header', () => {
  const model = createCatalog(() => ({ 'vidB-2': { ...unchanged, state: 'deprecated' } })).find('vidB-2')
  expect(deprecationHeaders(model)).toEqual({ deprecation: 'true' })
  expect(presentModel(model, undefined)).not.toHaveProperty('shutdown_date')
})

test('an operator change takes effect at once, and so does its removal', () => {
  let changes: Record<string, ModelChange> = {}
  const catalog = createCatalog(() => changes)
  changes = { 'vidB-2': { ...unchanged, state: 'retired', pricePerSecondMicros: 3 } }
  expect(() => catalog.find('vidB-2')).toThrow('has been retired')
  expect(catalog.available().map(({ id }) => id)).not.toContain('vidB-2')
  changes = {}
  expect(catalog.find('vidB-2')).toEqual(createCatalog().find('vidB-2'))
})
