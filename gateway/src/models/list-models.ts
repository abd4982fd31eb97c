import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../http/call.ts'
import { presentModel, type Catalog, type ModelEngines } from './catalog.ts'
import { mayUseModel } from './model-access.ts'

export const listModels =
  ({
    catalog,
    engines,
  }: {
    catalog: Catalog
    engines: ModelEngines
  }): Handler<typeof operations.listModels> =>
  async ({ caller }) => {
    const usable = catalog.available().filter(({ id }) => mayUseModel(caller, id))
    const engineOf = await engines()
    return {
      body: { object: 'list', data: usable.map((model) => presentModel(model, engineOf.get(model.id))) },
    }
  }
