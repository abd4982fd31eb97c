import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../http/call.ts'
import { presentModel, type Catalog } from './catalog.ts'
import { deprecationHeaders } from './deprecation.ts'
import { assertMayUseModel } from './model-access.ts'

export const getModel =
  ({ catalog }: { catalog: Catalog }): Handler<typeof operations.getModel> =>
  async ({ path, caller }) => {
    const model = catalog.find(path['id'] ?? '')
    assertMayUseModel(caller, model.id)
    return { headers: deprecationHeaders(model), body: presentModel(model) }
  }
