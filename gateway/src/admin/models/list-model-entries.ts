import type { adminOperations } from '@kinora/contract/admin-operations'

import type { Handler } from '../../http/call.ts'
import type { Database } from '../../platform/postgres.ts'
import { idText, pageOf, readCursor, rowsFor } from '../page.ts'
import { viewModels, type ModelDependencies } from './view-models.ts'

export const listModelEntries =
  (
    dependencies: ModelDependencies & { database: Database },
  ): Handler<typeof adminOperations.listModelEntries> =>
  async (call) => {
    const [after = ''] = readCursor(call, 'models', [idText]) ?? []
    const rows = await viewModels(dependencies.database, dependencies, { after, count: rowsFor(call) })
    return {
      body: pageOf(
        call,
        'models',
        rows,
        (model) => model,
        ({ id }) => [id],
      ),
    }
  }
