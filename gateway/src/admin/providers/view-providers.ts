/** Providers as shown to operators: configuration, models, health, and load. */
import { ApiError } from '@kinora/contract/errors'
import type { Provider } from '@kinora/contract/operations/admin/providers'

import type { Catalog } from '../../models/catalog.ts'
import type { Database } from '../../platform/postgres.ts'
import { openSecret } from '../../platform/sealed-secret.ts'
import type { Secret } from '../../platform/secret.ts'
import { modelsWithoutCosts } from '../../provider-budgets/budgets.ts'
import type { Spend } from '../../provider-budgets/spend-store.ts'
import type { ProviderConfig } from '../../provider-config/config.ts'
import type { ReloadableConfig } from '../../provider-config/live-config.ts'
import { listProviderRecords, type ProviderRecord } from '../../provider-config/provider-config-store.ts'
import {
  providerConfigSchema,
  toProviderConfig,
  type parseProviderConfig,
} from '../../provider-config/provider-config.ts'
import { validateConfig, type RawConfig } from '../../provider-config/validate-config.ts'
import { readDurationMismatches } from '../../routing/duration-mismatch-store.ts'
import { remedyFor, type Router } from '../../routing/route.ts'
import { secondsOf } from '../unix-time.ts'
import { capabilityFor } from './capability-for.ts'
import { presentHealth } from './present-health.ts'
import { credentialHintOf, presentProviderConfig } from './present-provider.ts'
import { presentSpend } from './present-spend.ts'
import { readProviderLoads } from './provider-load-store.ts'
import { problemText } from './refuse-config.ts'

export interface ProviderDependencies {
  liveConfig: Pick<ReloadableConfig, 'current' | 'fileConfig' | 'refresh'>
  catalog: Catalog
  router: Pick<Router, 'routesOf' | 'healthOf' | 'unsteadyAt' | 'stopAt'>
  /** What the providers with a budget have cost today. */
  readSpend: () => Promise<Map<string, Spend>>
  currency: string
  /** The first encrypts; any of them decrypts. */
  credentialSecrets: Secret[]
  /** With every protocol there is. */
  parseConfig: (name: string, raw: unknown) => ReturnType<typeof parseProviderConfig>
}

const modelsOf = (name: string, { catalog, router }: ProviderDependencies): Provider['models'] =>
  catalog.available().flatMap(({ id, kind }) =>
    router
      .routesOf(id, capabilityFor[kind])
      .filter(({ provider }) => provider.name === name)
      .map(({ upstreamModel, order, weight }) => ({
        model: id,
        upstream_model: upstreamModel,
        order,
        weight,
        health: presentHealth(router.healthOf(name, id)),
      })),
  )

/** The problem of a stored configuration. Errors in the configuration file are reported at startup and in the log. */
export const configProblem = (
  { name, config, credential }: ProviderRecord,
  { credentialSecrets, parseConfig }: Pick<ProviderDependencies, 'credentialSecrets' | 'parseConfig'>,
): string | null => {
  const { problems } = parseConfig(name, config)
  if (problems.length > 0) {
    return `This configuration is no longer valid. Set it again: ${problems.map(problemText).join(', ')}.`
  }
  const owner = { purpose: 'provider credential', name } as const
  if (credential === null || openSecret(credentialSecrets, owner, credential) !== undefined) return null
  return 'None of CREDENTIAL_SECRETS decrypts the API key. Add the secret it was encrypted with, or set api_key again.'
}

const refusesCredential = (name: string, { catalog, router }: ProviderDependencies): boolean =>
  router
    .unsteadyAt(name)
    .some(
      ({ model, health }) =>
        health.kind === 'unhealthy' && health.isUnauthorized && catalog.isAvailable(model),
    )

const problemOf = (
  name: string,
  record: ProviderRecord | undefined,
  dependencies: ProviderDependencies,
): string | null => {
  const problem = record === undefined ? null : configProblem(record, dependencies)
  return problem ?? (refusesCredential(name, dependencies) ? remedyFor(name) : null)
}

/** The valid part of an invalid configuration. The provider accepts no new jobs. */
const validPartOf = (name: string, raw: RawConfig): ProviderConfig => {
  const wrong = new Set(validateConfig(providerConfigSchema, raw).problems.map(({ path: [first] }) => first))
  const rest = Object.fromEntries(Object.entries(raw).filter(([setting]) => !wrong.has(setting)))
  const { values } = validateConfig(providerConfigSchema, rest)
  return { ...toProviderConfig(name, values, values.baseUrl ?? '', {}), isEnabled: false }
}

/** `choose` gets all providers in the order of their names. */
const viewChosen = async (
  database: Database,
  dependencies: ProviderDependencies,
  choose: (all: ProviderConfig[]) => ProviderConfig[],
): Promise<Provider[]> => {
  const { liveConfig } = dependencies
  await liveConfig.refresh()
  const records = new Map((await listProviderRecords(database)).map((record) => [record.name, record]))
  const loads = await readProviderLoads(database)
  const spends = await dependencies.readSpend()
  const withoutCosts = modelsWithoutCosts(liveConfig.current())
  const mismatches = await readDurationMismatches(database)
  const live = new Map(liveConfig.current().providers.map((settings) => [settings.name, settings]))

  const view = (settings: ProviderConfig): Provider => {
    const { name } = settings
    const record = records.get(name)
    const hint = settings.apiKey === undefined ? null : credentialHintOf(settings.apiKey)
    const load = loads.get(name)
    return {
      ...presentProviderConfig(settings, record?.credentialHint ?? hint),
      currency: dependencies.currency,
      spend: presentSpend(settings, spends.get(name), withoutCosts.get(name) ?? [], dependencies.currency),
      source: record === undefined ? 'file' : 'record',
      is_removed: record !== undefined && record.removedAt !== null,
      problem: problemOf(name, record, dependencies),
      models: modelsOf(name, dependencies),
      tasks_in_flight: load?.inFlight ?? 0,
      tasks_waiting: load?.waiting ?? 0,
      duration_mismatches: mismatches.get(name) ?? 0,
      updated_at: record === undefined ? null : secondsOf(record.updatedAt),
    }
  }
  const unusable = [...records.values()].filter(({ name }) => !live.has(name))
  const all = [...live.values(), ...unusable.map(({ name, config }) => validPartOf(name, config))]
  return choose(all.toSorted((a, b) => (a.name < b.name ? -1 : 1))).map(view)
}

/** The providers after a name. */
export const viewProviders = (
  database: Database,
  dependencies: ProviderDependencies,
  { after, count }: { after: string; count: number },
): Promise<Provider[]> =>
  viewChosen(database, dependencies, (all) => all.filter(({ name }) => name > after).slice(0, count))

export const noProvider = () =>
  new ApiError('resource_not_found', { message: 'There is no provider with this name.' })

export const viewProvider = async (
  database: Database,
  name: string,
  dependencies: ProviderDependencies,
): Promise<Provider> => {
  const [found] = await viewChosen(database, dependencies, (all) => all.filter((each) => each.name === name))
  if (found === undefined) throw noProvider()
  return found
}
