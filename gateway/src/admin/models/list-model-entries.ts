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
    const all = await viewModels(dependencies.database, dependencies)
    const rows = all.filter(({ id }) => id > after).slice(0, rowsFor(call))
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
