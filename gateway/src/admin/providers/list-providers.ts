import type { adminOperations } from '@kinora/contract/admin-operations'

import type { Handler } from '../../http/call.ts'
import type { Database } from '../../platform/postgres.ts'
import { idText, pageOf, readCursor, rowsFor } from '../page.ts'
import { viewProviders, type ProviderDependencies } from './view-providers.ts'

export const listProviders =
  (
    dependencies: ProviderDependencies & { database: Database },
  ): Handler<typeof adminOperations.listProviders> =>
  async (call) => {
    const [after = ''] = readCursor(call, 'providers', [idText]) ?? []
    const all = await viewProviders(dependencies.database, dependencies)
    const rows = all.filter(({ name }) => name > after).slice(0, rowsFor(call))
    return {
      body: pageOf(
        call,
        'providers',
        rows,
        (provider) => provider,
        ({ name }) => [name],
      ),
    }
  }
