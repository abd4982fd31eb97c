import { expect, test } from 'vitest'

import { createModelCache, type ModelSources } from './model-cache.ts'
import { parseModelConfig } from './model-config.ts'

const speech = (changes: Record<string, unknown> = {}) => ({
  kind: 'speech',
  voices: ['nova'],
  prices: [{ unit: 'million_characters', micros: 1 }],
  ...changes,
})

/** Validates models, each a new object as after a reload, and returns the ids that were validated again. */
const createCounted = () => {
  const cache = createModelCache()
  return (models: Record<string, unknown>, providers = ['acme', 'other']) => {
    const validated: string[] = []
    const sources = Object.entries(models).map(([id, later]): ModelSources => ({
      id,
      earlier: undefined,
      later,
      priceSource: 'file',
    }))
    const knownModels = new Set(Object.keys(models))
    const results = cache(sources, { providers, knownModels }, ({ id, priceSource }, merged, references) => {
      validated.push(id)
      return parseModelConfig(id, merged, { ...references, priceSource })
    })
    return { validated, problems: results.flatMap((each) => each.validated.problems.map(({ path }) => path)) }
  }
}

test('of 2,000 models only a changed one is validated again', () => {
  const validate = createCounted()
  const models = (changed: number) =>
    Object.fromEntries(
      Array.from({ length: 2_000 }, (_, index) => [
        `model-${index}`,
        speech({
          provider: 'acme',
          ...(index === 7 && { prices: [{ unit: 'million_characters', micros: changed }] }),
        }),
      ]),
    )
  expect(validate(models(1)).validated).toHaveLength(2_000)
  expect(validate(models(1)).validated).toEqual([])
  expect(validate(models(2)).validated).toEqual(['model-7'])
  expect(validate({ ...models(2), added: speech() }).validated).toEqual(['added'])
  expect(validate(models(2)).validated).toEqual([])
})

test('a model is validated again when a provider or its successor is removed', () => {
  const validate = createCounted()
  const old = speech({ successor: 'next' })
  expect(validate({ old, next: speech(), more: speech({ provider: 'other' }) }).problems).toEqual([])
  expect(validate({ old, more: speech({ provider: 'other' }) })).toEqual({
    validated: ['old'],
    problems: [['successor']],
  })
  expect(validate({ old, next: speech(), more: speech({ provider: 'other' }) })).toEqual({
    validated: ['old', 'next'],
    problems: [],
  })
  expect(validate({ more: speech({ provider: 'other' }) }, ['acme']).problems).toEqual([['provider']])
})
