import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../http/call.ts'
import type { Catalog } from './catalog.ts'
import { deprecationHeaders } from './deprecation.ts'
import { assertMayUseModel } from './model-access.ts'
import { presentModel, type ModelEngines, type PricesOf } from './present-model.ts'

export const getModel =
  ({
    catalog,
    engines,
    pricesOf,
  }: {
    catalog: Catalog
    engines: ModelEngines
    pricesOf: PricesOf
  }): Handler<typeof operations.getModel> =>
  async ({ path, caller }) => {
    const { currency } = caller
    const model = catalog.find(path.id)
    assertMayUseModel(caller, model.id)
    const engine = (await engines()).get(model.id)
    return {
      headers: deprecationHeaders(model),
      body: presentModel(model, { engine, prices: pricesOf(model), currency }),
    }
  }
