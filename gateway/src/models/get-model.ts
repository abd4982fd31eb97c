import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../http/call.ts'
import { presentModel, type Catalog, type ModelEngines } from './catalog.ts'
import { deprecationHeaders } from './deprecation.ts'
import { assertMayUseModel } from './model-access.ts'

export const getModel =
  ({ catalog, engines }: { catalog: Catalog; engines: ModelEngines }): Handler<typeof operations.getModel> =>
  async ({ path, caller }) => {
    const model = catalog.find(path.id)
    assertMayUseModel(caller, model.id)
    const engine = (await engines()).get(model.id)
    return { headers: deprecationHeaders(model), body: presentModel(model, engine) }
  }
