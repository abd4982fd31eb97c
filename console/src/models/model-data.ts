/** What the screens of models read and change. */
import type {
  ListModelKindsItem,
  ModelEntry,
  ModelRoutes,
  PriceVersion,
  Provider,
} from '@kinora/client/admin'
import { queryOptions } from '@tanstack/react-query'

import { queryClient } from '../queries.ts'
import { kinoraAdmin } from '../service.ts'

export type ModelKind = ListModelKindsItem
export type Route = ModelRoutes['routes'][number]

const refetchMs = 15_000
const pageLimit = 200
const usageSeconds = 7 * 86_400

const readAll = async <Item>(list: AsyncIterable<Item>): Promise<Item[]> => {
  const items: Item[] = []
  for await (const item of list) items.push(item)
  return items
}

export const modelsQuery = queryOptions({
  queryKey: ['catalog'],
  queryFn: () => readAll(kinoraAdmin.models.list({ limit: pageLimit })),
  refetchInterval: refetchMs,
})

export const kindsQuery = queryOptions({
  queryKey: ['model-kinds'],
  queryFn: async () => (await kinoraAdmin.models.kinds()).data,
  staleTime: Infinity,
})

export const pricesQuery = queryOptions({
  queryKey: ['prices'],
  queryFn: () => readAll(kinoraAdmin.prices.list({ limit: pageLimit })),
  refetchInterval: refetchMs,
})

/** Past and planned prices too. */
export const modelPricesQuery = (model: string) =>
  queryOptions({
    queryKey: ['prices', model],
    queryFn: () => readAll(kinoraAdmin.prices.list({ limit: pageLimit, model, all: true })),
    refetchInterval: refetchMs,
  })

export const routesQuery = (model: string) =>
  queryOptions({
    queryKey: ['catalog', model, 'routes'],
    queryFn: () => kinoraAdmin.models.routes(model),
    refetchInterval: refetchMs,
  })

/** Requests of the last week by model. */
export const usageQuery = queryOptions({
  queryKey: ['model-usage'],
  queryFn: async (): Promise<Map<string, number>> => {
    const from = Math.floor(Date.now() / 1_000) - usageSeconds
    const rows = await readAll(kinoraAdmin.usage.get({ group_by: 'model', from }))
    return new Map(rows.map(({ model, requests }) => [model ?? '', requests]))
  },
  refetchInterval: 60_000,
})

export const refreshModels = async (): Promise<void> => {
  await Promise.all(
    ['catalog', 'models', 'prices', 'providers'].map((key) =>
      queryClient.invalidateQueries({ queryKey: [key] }),
    ),
  )
}

/** The settings that were set with the admin API, with changes. The API replaces all of them at once. */
export const changeModel = async (id: string, change: Record<string, unknown>): Promise<ModelEntry> => {
  const { settings, changed } = await kinoraAdmin.models.get(id)
  // Routes stay unless they are given.
  const kept = changed
    .filter((name) => name !== 'routes' && Object.hasOwn(settings, name))
    .map((name) => [name, settings[name]] as const)
  const merged = Object.entries({ ...Object.fromEntries(kept), ...change })
  return kinoraAdmin.models.set(id, {
    settings: Object.fromEntries(merged.filter(([, value]) => value !== undefined)),
  })
}

export interface ModelRow {
  model: ModelEntry
  aliases: string[]
  prices: PriceVersion[]
  routes: { provider: string; order: number; isHealthy: boolean }[]
  requests: number | undefined
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const getAliases = ({ settings }: ModelEntry): Record<string, unknown> =>
  isRecord(settings['aliases']) ? settings['aliases'] : {}

export const getText = ({ settings }: ModelEntry, name: string): string | undefined => {
  const value = settings[name]
  return typeof value === 'string' ? value : undefined
}

export const getList = ({ settings }: ModelEntry, name: string): string[] => {
  const value = settings[name]
  return Array.isArray(value)
    ? value.filter((each) => ['string', 'number'].includes(typeof each)).map(String)
    : []
}

interface Sources {
  models: readonly ModelEntry[]
  prices: readonly PriceVersion[]
  providers: readonly Provider[]
  usage: ReadonlyMap<string, number> | undefined
}

export const listRows = ({ models, prices, providers, usage }: Sources): ModelRow[] =>
  models.map((model) => ({
    model,
    aliases: Object.keys(getAliases(model)),
    prices: prices.filter((price) => price.model === model.id),
    routes: providers
      .flatMap((provider) =>
        provider.models
          .filter((each) => each.model === model.id)
          .map(({ order, health }) => ({
            ...{ provider: provider.name, order },
            isHealthy: provider.enabled && provider.problem === null && health.state === 'healthy',
          })),
      )
      .toSorted((one, other) => one.order - other.order),
    requests: usage === undefined ? undefined : (usage.get(model.id) ?? 0),
  }))
