import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../http/call.ts'
import { presentModel, type Catalog } from './catalog.ts'
import { mayUseModel } from './model-access.ts'

export const listModels =
  ({ catalog }: { catalog: Catalog }): Handler<typeof operations.listModels> =>
  async ({ caller }) => ({
    body: {
      object: 'list',
      data: catalog
        .available()
        .filter(({ id }) => mayUseModel(caller, id))
        .map(presentModel),
    },
  })
