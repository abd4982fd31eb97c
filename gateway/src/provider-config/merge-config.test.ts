import { expect, test } from 'vitest'

import { createMergeConfig } from './merge-config.ts'
import { parseModels } from './parse-models.ts'

const model = (aliases: object) => ({
  ...{ kind: 'transcription', prices: [{ unit: 'minute', micros: 1 }], aliases },
})

const file = {
  providers: [],
  ...parseModels({}, { 'hear-1': model({}), 'hear-2': model({ ear: {} }) }, []),
}

const merge = (models: Record<string, object>) =>
  createMergeConfig({ protocols: {} })(file, { providers: [], models: models as never })

test('of two models with one name, the one that an override has given it keeps its settings of the file', () => {
  // The changed model comes before the other one in the file.
  const { config, problems } = merge({ 'hear-1': { aliases: { ear: {} } } })
  expect(config.models).toEqual(file.models)
  expect(problems).toEqual([
    'models.hear-1.aliases.ear cannot be a name of both hear-2 and hear-1: remove it from one of them',
  ])
})

test('a model whose id is an alias in the file is not added', () => {
  const { config, problems } = merge({ ear: model({}) })
  expect(config.models).toEqual(file.models)
  expect(problems).toEqual([
    'models.hear-2.aliases.ear cannot be a name of hear-2, because ear is a model: choose another name',
  ])
})
