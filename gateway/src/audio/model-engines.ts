/**
 * Reports the engine that currently serves each audio model. Responses of providers are cached for a few seconds and
 * have a short timeout, so that a slow provider does not delay the model list.
 */
import type { ModelEngines } from '../models/present-model.ts'
import type { Log } from '../platform/log.ts'
import type { Capability, EngineState, Provider } from '../providers/port/provider.ts'
import type { Router } from '../routing/route.ts'

const cacheMs = 5_000
const timeoutMs = 500

type EngineStates = Record<string, EngineState>

const capabilities = { transcription: 'transcription', speech: 'speech', chat: 'dialogue' } satisfies Record<
  string,
  Capability
>

export const createModelEngines = ({
  router,
  log,
}: {
  router: Pick<Router, 'routesOf'>
  log: Log
}): ModelEngines => {
  const cache = new Map<string, { atMs: number; states: Promise<EngineStates> }>()

  const statesOf = (provider: Provider): Promise<EngineStates> => {
    if (provider.engines === undefined) return Promise.resolve({})
    const cached = cache.get(provider.name)
    if (cached !== undefined && performance.now() - cached.atMs < cacheMs) return cached.states
    const states = provider.engines(AbortSignal.timeout(timeoutMs)).catch((error: unknown) => {
      log.debug({ err: error, provider: provider.name }, 'engines.not-published')
      return {}
    })
    cache.set(provider.name, { atMs: performance.now(), states })
    return states
  }

  return async (models) => {
    const audio = models.flatMap(({ id, kind }) => (kind === 'video' ? [] : { id, kind }))
    const found = await Promise.all(
      audio.map(async ({ id, kind }) => {
        const [route] = router.routesOf(id, capabilities[kind])
        const state = route && (await statesOf(route.provider))[route.upstreamModel]
        return state === undefined ? [] : [[id, presentEngine(state)] as const]
      }),
    )
    return new Map(found.flat())
  }
}

const presentEngine = ({ engine, wanted, quality, pull }: EngineState) => ({
  name: engine,
  wanted,
  quality,
  ...(pull !== undefined && { pull }),
})
