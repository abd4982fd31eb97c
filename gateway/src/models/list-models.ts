import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../http/call.ts'
import { mayUseModel, mayUseUnderSomeName } from './model-access.ts'
import { presentModel, type ModelViews } from './present-model.ts'

export const listModels =
  ({ catalog, engines, pricesOf }: ModelViews): Handler<typeof operations.listModels> =>
  async ({ caller }) => {
    const { currency } = caller
    const usable = catalog.availableNames().filter((model) => mayUseModel(caller, model))
    const engineOf = await engines(catalog.available().filter((model) => mayUseUnderSomeName(caller, model)))
    const data = usable.map((model) =>
      presentModel(model, { engine: engineOf.get(model.id), prices: pricesOf(model), currency }),
    )
    return { body: { object: 'list', data } }
  }
