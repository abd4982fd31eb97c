import type { adminOperations } from '@kinora/contract/admin-operations'

import type { Postgres } from '../../platform/postgres.ts'
import {
  findModelRecord,
  lockProviderConfig,
  removeModelRecord,
  writeModelRecord,
} from '../../provider-config/provider-config-store.ts'
import type { AdminHandler } from '../admin-call.ts'
import { viewRoutes, type RouteDependencies } from './view-routes.ts'

export const deleteModelRoutes =
  (
    dependencies: RouteDependencies & { postgres: Postgres },
  ): AdminHandler<typeof adminOperations.deleteModelRoutes> =>
  async (call) => {
    const { postgres, catalog } = dependencies
    const model = catalog.find(call.path.id)
    await postgres.transaction(async (database) => {
      await lockProviderConfig(database)
      const { routes, ...rest } = (await findModelRecord(database, model.id)) ?? {}
      if (routes === undefined) return
      if (Object.keys(rest).length === 0) await removeModelRecord(database, model.id)
      else await writeModelRecord(database, model.id, rest)
      await call.audit(database, { action: 'deleteModelRoutes', target: model.id, before: routes })
    })
    return { body: await viewRoutes(postgres, model, dependencies, call.operator.currency) }
  }
