import type { adminOperations } from '@kinora/contract/admin-operations'
import { ApiError } from '@kinora/contract/errors'
import { RoutesBody } from '@kinora/contract/operations/admin/models'

import type { Database, Postgres } from '../../platform/postgres.ts'
import {
  findModelRecord,
  listProviderRecords,
  lockProviderConfig,
  writeModelRecord,
} from '../../provider-config/provider-config-store.ts'
import { problemsOfRoutes } from '../../provider-config/route-config.ts'
import { formatPath, type RawConfig } from '../../provider-config/validate-config.ts'
import type { AdminHandler } from '../admin-call.ts'
import { parseRecord } from './view-models.ts'
import { viewRoutes, type RouteDependencies } from './view-routes.ts'

const refuse = (param: string, message: string) => new ApiError('invalid_parameter', { param, message })

/** Providers that a route may use; removed ones are excluded. */
const currentProviders = async (database: Database, { liveConfig }: RouteDependencies): Promise<string[]> => {
  const records = await listProviderRecords(database)
  const inFile = liveConfig.fileConfig().providers.map(({ name }) => name)
  const inRecord = records.flatMap(({ name, removedAt }) => (removedAt === null ? name : []))
  return [...new Set([...inFile, ...inRecord])]
}

export const setModelRoutes =
  (
    dependencies: RouteDependencies & { postgres: Postgres },
  ): AdminHandler<typeof adminOperations.setModelRoutes> =>
  async (call) => {
    const { postgres, catalog } = dependencies
    const model = catalog.find(call.path.id)
    const { routes } = call.read(RoutesBody)
    if (routes.length === 0) {
      throw refuse(
        'routes',
        `'routes' must have at least one route. To use the routes of the configuration file, DELETE them.`,
      )
    }
    await postgres.transaction(async (database) => {
      await lockProviderConfig(database)
      const providers = await currentProviders(database, dependencies)
      const problems = problemsOfRoutes(model, { routes }, providers)
      const [first] = problems
      if (first !== undefined) {
        const texts = problems.map(({ path, message }) => `'${formatPath(path)}' ${message}`)
        throw refuse(formatPath(first.path), `${texts.join('. ')}.`)
      }
      const earlier: RawConfig = (await findModelRecord(database, model.id)) ?? {}
      // Of the other settings, only the sizes depend on the routes.
      const ofSizes = parseRecord(dependencies, model.id, { ...earlier, routes }).problems.filter(
        ({ path: [setting] }) => ['sizes', 'frames', 'aliases'].includes(String(setting)),
      )
      if (ofSizes.length > 0) {
        const texts = ofSizes.map(({ path, message }) => `'${formatPath(path)}' ${message}`)
        throw refuse('routes', `With these routes, of ${model.id} ${texts.join('. ')}.`)
      }
      await writeModelRecord(database, model.id, { ...earlier, routes })
      await call.audit(database, {
        action: 'setModelRoutes',
        target: model.id,
        before: earlier['routes'],
        after: routes,
      })
    })
    return { body: await viewRoutes(postgres, model, dependencies, call.operator.currency) }
  }
