import { expect, test } from 'vitest'

import { referenceCatalog } from '../../test/kit/reference-catalog.ts'
import { createLog } from '../platform/log.ts'
import type { EngineState, Provider } from '../providers/port/provider.ts'
import type { Route, Router } from '../routing/route.ts'
import { createModelEngines } from './model-engines.ts'

const models = referenceCatalog().available()
const log = createLog({ level: 'silent' }, 'test')
const whisper: EngineState = {
  engine: 'whisper-tiny',
  wanted: 'whisper-base',
  quality: 'Fair.',
  pull: 'pull it',
}

/** One provider behind every model, with its own name for asr-1. */
const routerTo = (engines: Provider['engines']): Pick<Router, 'routesOf'> => {
  const provider = { name: 'only', engines } as Provider
  const routeOf = (model: string) => ({ provider, upstreamModel: model === 'asr-1' ? 'listener' : model })
  return { routesOf: (model) => [routeOf(model) as Route] }
}

test('a provider is called once for all models and all concurrent calls', async () => {
  let calls = 0
  const engines = createModelEngines({
    log,
    router: routerTo(async () => {
      calls += 1
      return { listener: whisper, 'asr-large-v3': { ...whisper, pull: undefined }, 'vidB-2': whisper }
    }),
  })
  const [first, second] = await Promise.all([engines(models), engines(models)])
  await engines(models)
  expect(calls).toBe(1)
  expect(second).toEqual(first)
  const known = { name: 'whisper-tiny', wanted: 'whisper-base', quality: 'Fair.' }
  expect(Object.fromEntries(first)).toEqual({ 'asr-1': { ...known, pull: 'pull it' }, 'asr-large-v3': known })
})

test('a provider that does not report its engines, fails or times out is left out', async () => {
  const reported = (engines: Provider['engines']) =>
    createModelEngines({ log, router: routerTo(engines) })(models)
  expect((await reported(undefined)).size).toBe(0)
  expect((await reported(() => Promise.reject(new Error('away')))).size).toBe(0)
  const never = (signal: AbortSignal) =>
    new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(new Error('too late'))))
  expect((await reported(never)).size).toBe(0)
})
