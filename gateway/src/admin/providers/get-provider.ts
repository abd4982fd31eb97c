import type { adminOperations } from '@kinora/contract/admin-operations'

import type { Handler } from '../../http/call.ts'
import type { Database } from '../../platform/postgres.ts'
import { viewProvider, type ProviderDependencies } from './view-providers.ts'

export const getProvider =
  (
    dependencies: ProviderDependencies & { database: Database },
  ): Handler<typeof adminOperations.getProvider> =>
  async ({ path }) => ({ body: await viewProvider(dependencies.database, path.name, dependencies) })
