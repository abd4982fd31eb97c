import type { ModelRoutes } from '@kinora/contract/operations/admin/models'

import type { ModelConfig } from '../../models/model.ts'
import type { Database } from '../../platform/postgres.ts'
import { findModelRecord } from '../../provider-config/provider-config-store.ts'
import { problemsOfRoutes, routedProviders } from '../../provider-config/route-config.ts'
import { formatPath } from '../../provider-config/validate-config.ts'
import { capabilityFor } from '../providers/capability-for.ts'
import { presentHealth } from '../providers/present-health.ts'
import type { ProviderDependencies } from '../providers/view-providers.ts'

export type RouteDependencies = Pick<ProviderDependencies, 'liveConfig' | 'catalog' | 'router'>

/** The routes in force for a model, and their source. */
export const viewRoutes = async (
  database: Database,
  { id, kind }: Pick<ModelConfig, 'id' | 'kind'>,
  { liveConfig, router }: RouteDependencies,
  currency: string,
): Promise<ModelRoutes> => {
  await liveConfig.refresh()
  const entry = await findModelRecord(database, id)
  const providers = liveConfig.current().providers.map(({ name }) => name)
  const named = routedProviders(entry).filter((name) => name !== undefined)
  const problems = problemsOfRoutes({ id, kind }, entry, [...providers, ...named])
  const problem = [
    ...problems.map(({ path, message }) => `'${formatPath(path)}' ${message}`),
    ...named.flatMap((name) => (providers.includes(name) ? [] : `There is no provider named ${name}`)),
  ].join('. ')
  const isInFile = liveConfig.fileConfig().models[id]?.routes !== undefined
  const isInRecord = named.length > 0 && problems.length === 0
  return {
    object: 'model.routes',
    model: id,
    source: isInRecord ? 'record' : isInFile ? 'file' : 'default',
    problem: problem === '' ? null : `${problem}. Set the routes again, or delete them.`,
    routes: router
      .routesOf(id, capabilityFor[kind])
      .map(({ provider, upstreamModel, order, weight, seconds, sizes, slots, costs }) => ({
        provider: provider.name,
        model: upstreamModel,
        order,
        weight,
        seconds: seconds ?? null,
        sizes: sizes ?? null,
        slots,
        costs:
          costs?.map(({ unit, unitMicros, resolution, sound, input }) => ({
            ...{ unit, micros: unitMicros, currency, resolution, sound, input },
          })) ?? null,
        health: presentHealth(router.healthOf(provider.name, id)),
      })),
  }
}
