/** What a customer reads about the service and about their account: models, limits, usage and receipts. */
import { operations } from '@kinora/contract/operations'

import { getMe } from '../account/get-me.ts'
import { getReceipt } from '../account/get-receipt.ts'
import { getUsage } from '../account/get-usage.ts'
import { bindOperation, type ApiServer } from '../http/server/bind-operation.ts'
import { getModel } from '../models/get-model.ts'
import { listModels } from '../models/list-models.ts'
import type { ModelEngines } from '../models/present-model.ts'
import type { ApiContext } from './api-context.ts'

export const bindAccount = (
  server: ApiServer,
  { postgres, catalog, prices, settings }: ApiContext,
  engines: ModelEngines,
): void => {
  const models = { catalog, engines, pricesOf: prices.ofModel }
  bindOperation(server, operations.listModels, listModels(models))
  bindOperation(server, operations.getModel, getModel(models))
  bindOperation(server, operations.getMe, getMe({ database: postgres, settings: settings.current }))
  bindOperation(server, operations.getUsage, getUsage({ postgres }))
  bindOperation(server, operations.getReceipt, getReceipt({ database: postgres }))
}
