import type { adminOperations } from '@kinora/contract/admin-operations'

import type { Handler } from '../../http/call.ts'
import type { Database } from '../../platform/postgres.ts'
import { viewModel, type ModelDependencies } from './view-models.ts'

export const getModelEntry =
  (dependencies: ModelDependencies & { database: Database }): Handler<typeof adminOperations.getModelEntry> =>
  async ({ path }) => ({ body: await viewModel(dependencies.database, path.id, dependencies) })
