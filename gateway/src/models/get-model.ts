import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../http/call.ts'
import { deprecationHeaders } from './deprecation.ts'
import { assertMayUseModel } from './model-access.ts'
import { presentModel, type ModelViews } from './present-model.ts'

export const getModel =
  ({ catalog, engines, pricesOf }: ModelViews): Handler<typeof operations.getModel> =>
  async (call) => {
    const { path, caller } = call
    const { currency } = caller
    const model = catalog.find(path.id)
    assertMayUseModel(caller, model)
    const engine = (await engines([model])).get(model.id)
    return {
      headers: deprecationHeaders(model, call),
      body: presentModel(model, { engine, prices: pricesOf(model), currency }),
    }
  }
