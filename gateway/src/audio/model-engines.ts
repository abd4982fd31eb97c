/**
 * Which engine answers each audio model at the moment. A provider is asked at most every few seconds and is not waited
 * for long: a list of models is worth more than what one of them could add to it.
 */
import type { Catalog, ModelEngines } from '../models/catalog.ts'
import type { Log } from '../platform/log.ts'
import type { Capability, EngineState, Provider } from '../providers/port/provider.ts'
import type { Router } from '../routing/route.ts'

const freshMs = 5_000
const patienceMs = 500

type Told = Record<string, EngineState>

const capabilities = { transcription: 'transcription', speech: 'speech', chat: 'dialogue' } satisfies Record<
  string,
  Capability
>

export const createModelEngines = ({
  catalog,
  router,
  log,
}: {
  catalog: Catalog
  router: Pick<Router, 'routesOf'>
  log: Log
}): ModelEngines => {
  const asked = new Map<string, { atMs: number; told: Promise<Told> }>()

  const tell = (provider: Provider): Promise<Told> => {
    if (provider.engines === undefined) return Promise.resolve({})
    const known = asked.get(provider.name)
    if (known !== undefined && performance.now() - known.atMs < freshMs) return known.told
    const told = provider.engines(AbortSignal.timeout(patienceMs)).catch((error: unknown) => {
      log.debug({ err: error, provider: provider.name }, 'engines.not-published')
      return {}
    })
    asked.set(provider.name, { atMs: performance.now(), told })
    return told
  }

  return async () => {
    const models = catalog.available().flatMap(({ id, kind }) => (kind === 'video' ? [] : { id, kind }))
    const found = await Promise.all(
      models.map(async ({ id, kind }) => {
        // Whoever is preferred speaks for the model.
        const [route] = router.routesOf(id, capabilities[kind])
        const state = route && (await tell(route.provider))[route.upstreamModel]
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
