/**
 * Which engine answers each audio model at the moment. A provider is asked at most every few seconds and is not waited
 * for long: a list of models is worth more than what one of them could add to it.
 */
import type { Catalog, ModelEngines } from '../models/catalog.ts'
import type { Log } from '../platform/log.ts'
import type { EngineState, Provider, Providers } from '../providers/port/provider.ts'

const freshMs = 5_000
const patienceMs = 500

type Told = Record<string, EngineState>

export const createModelEngines = ({
  catalog,
  providers,
  log,
}: {
  catalog: Catalog
  providers: Providers
  log: Log
}): ModelEngines => {
  const asked = new Map<string, { atMs: number; told: Promise<Told> }>()

  const tell = (provider: Provider): Promise<Told> => {
    if (provider.engines === undefined) return Promise.resolve({})
    const known = asked.get(provider.name)
    if (known !== undefined && performance.now() - known.atMs < freshMs) return known.told
    const told = provider.engines(AbortSignal.timeout(patienceMs)).catch((error: unknown) => {
      log.debug({ err: error, provider: provider.name }, 'engines.not-told')
      return {}
    })
    asked.set(provider.name, { atMs: performance.now(), told })
    return told
  }

  return async () => {
    const models = catalog.available().filter(({ kind }) => kind !== 'video')
    const found = await Promise.all(
      models.map(async ({ id }) => {
        const { provider, upstreamModel } = providers.forModel(id)
        const state = (await tell(provider))[upstreamModel]
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
