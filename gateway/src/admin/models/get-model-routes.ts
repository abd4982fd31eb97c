import type { adminOperations } from '@kinora/contract/admin-operations'

import type { Handler } from '../../http/call.ts'
import type { Database } from '../../platform/postgres.ts'
import { viewRoutes, type RouteDependencies } from './view-routes.ts'

export const getModelRoutes =
  (
    dependencies: RouteDependencies & { database: Database },
  ): Handler<typeof adminOperations.getModelRoutes> =>
  async ({ path, operator: { currency } }) => {
    const entry = dependencies.catalog.find(path.id)
    return { body: await viewRoutes(dependencies.database, entry, dependencies, currency) }
  }
