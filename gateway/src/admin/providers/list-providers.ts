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
    const rows = await viewProviders(dependencies.database, dependencies, { after, count: rowsFor(call) })
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
