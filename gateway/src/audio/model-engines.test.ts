import { expect, test } from 'vitest'

import { createCatalog } from '../models/catalog.ts'
import { createLog } from '../platform/log.ts'
import type { EngineState, Provider } from '../providers/port/provider.ts'
import type { Route, Router } from '../routing/route.ts'
import { createModelEngines } from './model-engines.ts'

const log = createLog({ level: 'silent' }, 'test')
const whisper: EngineState = {
  engine: 'whisper-tiny',
  wanted: 'whisper-base',
  quality: 'Fair.',
  pull: 'pull it',
}

/** One provider behind every model, known to it by names of its own. */
const routerTo = (engines: Provider['engines']): Pick<Router, 'routesOf'> => {
  const provider = { name: 'only', engines } as Provider
  const routeOf = (model: string) => ({ provider, upstreamModel: model === 'asr-1' ? 'listener' : model })
  return { routesOf: (model) => [routeOf(model) as Route] }
}

test('a provider is asked once for all models and all who ask at the same time', async () => {
  let asked = 0
  const engines = createModelEngines({
    catalog: createCatalog(),
    log,
    router: routerTo(async () => {
      asked += 1
      return { listener: whisper, 'asr-large-v3': { ...whisper, pull: undefined }, 'vidB-2': whisper }
    }),
  })
  const [first, second] = await Promise.all([engines(), engines()])
  await engines()
  expect(asked).toBe(1)
  expect(second).toEqual(first)
  const known = { name: 'whisper-tiny', wanted: 'whisper-base', quality: 'Fair.' }
  expect(Object.fromEntries(first)).toEqual({ 'asr-1': { ...known, pull: 'pull it' }, 'asr-large-v3': known })
})

test('one that cannot or does not say is no reason to wait or to fail', async () => {
  const silent = (engines: Provider['engines']) =>
    createModelEngines({ catalog: createCatalog(), log, router: routerTo(engines) })()
  expect((await silent(undefined)).size).toBe(0)
  expect((await silent(() => Promise.reject(new Error('away')))).size).toBe(0)
  const never = (signal: AbortSignal) =>
    new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(new Error('too late'))))
  expect((await silent(never)).size).toBe(0)
})
