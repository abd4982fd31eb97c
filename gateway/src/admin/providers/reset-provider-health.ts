import type { adminOperations } from '@kinora/contract/admin-operations'

import type { Postgres } from '../../platform/postgres.ts'
import { deleteHealthOf } from '../../routing/route-health-store.ts'
import type { AdminHandler } from '../admin-call.ts'
import { viewProvider, type ProviderDependencies } from './view-providers.ts'

export const resetProviderHealth =
  (
    dependencies: ProviderDependencies & { postgres: Postgres },
  ): AdminHandler<typeof adminOperations.resetProviderHealth> =>
  async (call) => {
    const { postgres } = dependencies
    const { name } = await viewProvider(postgres, call.path.name, dependencies)
    const forgotten = await postgres.transaction(async (database) => {
      const models = await deleteHealthOf(database, name)
      await call.audit(database, {
        action: 'resetProviderHealth',
        target: name,
        before: { unhealthy_models: models },
      })
      return models
    })
    return { body: { name, object: 'provider.health', forgotten } }
  }
