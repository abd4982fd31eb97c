/** What the screens of providers read and change. */
import type {
  ListProviderProtocolsItem,
  Overview,
  Provider,
  SetProviderParams,
  TestProviderResponse,
} from '@kinora/client/admin'
import { queryOptions } from '@tanstack/react-query'

import { queryClient } from '../queries.ts'
import { kinoraAdmin } from '../service.ts'

export type Protocol = ListProviderProtocolsItem
export type ProviderTest = TestProviderResponse
type ProviderOverview = Overview['providers'][number]
type Attention = Overview['attention'][number]

/** No event tells that a provider has changed. */
const refetchMs = 10_000

export const providersQuery = queryOptions({
  queryKey: ['providers'],
  queryFn: async (): Promise<Provider[]> => {
    const providers: Provider[] = []
    for await (const provider of kinoraAdmin.providers.list({ limit: 200 })) providers.push(provider)
    return providers
  },
  refetchInterval: refetchMs,
})

export const overviewQuery = queryOptions({
  queryKey: ['overview'],
  queryFn: () => kinoraAdmin.overview.get(),
  refetchInterval: refetchMs,
})

export const protocolsQuery = queryOptions({
  queryKey: ['provider-protocols'],
  queryFn: async () => (await kinoraAdmin.providerProtocols.list()).data,
  staleTime: Infinity,
})

export const refreshProviders = async (): Promise<void> => {
  await Promise.all([
    queryClient.invalidateQueries({ queryKey: ['providers'] }),
    queryClient.invalidateQueries({ queryKey: ['overview'] }),
  ])
}

/** The value of a field of the protocol that the provider has. */
export const getSetting = (provider: Provider, field: Protocol['fields'][number]): unknown =>
  field.in_settings
    ? provider.settings[field.name]
    : (provider as unknown as Record<string, unknown>)[field.name]

/** The body that leaves the provider as it is. The stored key stays, because it is not sent. */
const describeProvider = (provider: Provider, { fields }: Protocol): SetProviderParams => {
  const body: Record<string, unknown> = { kind: provider.kind }
  const settings: Record<string, unknown> = { ...provider.settings }
  for (const field of fields) {
    const value = getSetting(provider, field)
    const isDefault = JSON.stringify(value) === JSON.stringify(field.default)
    if (field.in_settings && isDefault) delete settings[field.name]
    if (!field.in_settings && !field.secret && !isDefault && value !== undefined) body[field.name] = value
  }
  return {
    ...body,
    kind: provider.kind,
    ...(Object.keys(settings).length > 0 && { settings }),
  }
}

/** Changes single values of a provider. The API replaces all settings at once. */
export const changeProvider = async (name: string, change: Partial<SetProviderParams>): Promise<Provider> => {
  // What another operator has changed meanwhile stays.
  const [provider, protocols] = await Promise.all([
    kinoraAdmin.providers.get(name),
    queryClient.ensureQueryData(protocolsQuery),
  ])
  const protocol = protocols.find(({ kind }) => kind === provider.kind)
  if (protocol === undefined) throw new Error(`This version has no protocol "${provider.kind}".`)
  return kinoraAdmin.providers.set(name, { ...describeProvider(provider, protocol), ...change })
}

export type ProviderState =
  | 'removed'
  | 'draining'
  | 'disabled'
  | 'unusable'
  | 'wrongKey'
  | 'unreachable'
  | 'open'
  | 'budget'
  | 'halfOpen'
  | 'failing'
  | 'slow'
  | 'healthy'
  | 'idle'

export interface ProviderView {
  provider: Provider
  overview: ProviderOverview | undefined
  attention: Attention[]
}

/** The last minutes that say how the provider is now. */
const recentMinutes = 5

export const getState = ({ provider, overview, attention }: ProviderView): ProviderState => {
  if (provider.is_removed) return 'removed'
  if (!provider.enabled) return provider.tasks_in_flight > 0 ? 'draining' : 'disabled'
  if (provider.problem !== null) return 'unusable'
  if (attention.some(({ code }) => code === 'provider_credential_refused')) return 'wrongKey'
  if (overview?.breaker.state === 'open') return 'open'
  if (provider.spend?.is_stopped === true) return 'budget'
  if (overview?.breaker.state === 'half_open') return 'halfOpen'
  const busy = overview?.minutes.filter(({ state }) => state !== 'none') ?? []
  const recent = overview?.minutes.slice(-recentMinutes).findLast(({ state }) => state !== 'none')
  if (recent?.state === 'failing') return 'failing'
  if (recent?.state === 'slow') return 'slow'
  return busy.length === 0 ? 'idle' : 'healthy'
}

export const viewProviders = (
  providers: readonly Provider[],
  overview: Overview | undefined,
): ProviderView[] =>
  providers.map((provider) => ({
    provider,
    overview: overview?.providers.find(({ name }) => name === provider.name),
    attention:
      overview?.attention.filter(
        ({ subject }) => subject?.type === 'provider' && subject.id === provider.name,
      ) ?? [],
  }))

/** Models that no other enabled provider serves. */
export const findOnlyModels = (provider: Provider, providers: readonly Provider[]): string[] => {
  const others = new Set(
    providers
      .filter(({ name, enabled, is_removed: isRemoved }) => name !== provider.name && enabled && !isRemoved)
      .flatMap(({ models }) => models.map(({ model }) => model)),
  )
  return provider.models.map(({ model }) => model).filter((model) => !others.has(model))
}
