/** What a customer reads about the service and their account, and what they manage themselves. */
import { operations } from '@kinora/contract/operations'

import { getMe } from '../account/get-me.ts'
import { getReceipt } from '../account/get-receipt.ts'
import { getStatement } from '../account/get-statement.ts'
import { getUsage } from '../account/get-usage.ts'
import { createAccountKey } from '../account/keys/create-account-key.ts'
import { deleteAccountKey } from '../account/keys/delete-account-key.ts'
import { getAccountKey } from '../account/keys/get-account-key.ts'
import { listAccountKeys } from '../account/keys/list-account-keys.ts'
import { rotateAccountKey } from '../account/keys/rotate-account-key.ts'
import { updateAccountKey } from '../account/keys/update-account-key.ts'
import { listStatements } from '../account/list-statements.ts'
import { getOwnAccount } from '../account/own-account/get-own-account.ts'
import { updateOwnAccount } from '../account/own-account/update-own-account.ts'
import { bindOperation, type ApiServer } from '../http/server/bind-operation.ts'
import { getModel } from '../models/get-model.ts'
import { listModels } from '../models/list-models.ts'
import type { ModelEngines } from '../models/present-model.ts'
import type { ApiContext } from './api-context.ts'
import { createBindSelfService } from './bind-self-service.ts'
import { readIssuer } from './issuer.ts'

export const bindAccount = (
  server: ApiServer,
  { config, postgres, catalog, prices, settings, keySecret }: ApiContext,
  engines: ModelEngines,
): void => {
  const models = { catalog, engines, pricesOf: prices.ofModel }
  bindOperation(server, operations.listModels, listModels(models))
  bindOperation(server, operations.getModel, getModel(models))
  bindOperation(server, operations.getMe, getMe({ database: postgres, settings: settings.current }))
  bindOperation(server, operations.getUsage, getUsage({ postgres }))
  bindOperation(server, operations.getReceipt, getReceipt({ database: postgres }))
  bindOperation(server, operations.listStatements, listStatements({ postgres }))
  bindOperation(server, operations.getStatement, getStatement({ postgres, issuer: readIssuer(config) }))
  bindOperation(server, operations.getOwnAccount, getOwnAccount({ database: postgres }))

  const bind = createBindSelfService(server, config)
  bind(operations.updateOwnAccount, updateOwnAccount({ postgres }))
  const forgetKeys = () => server.authenticate.forget()
  const keys = { postgres, catalog, defaults: settings.current, keySecret, forgetKeys }
  bind(operations.createAccountKey, createAccountKey(keys))
  bind(operations.listAccountKeys, listAccountKeys({ database: postgres }))
  bind(operations.getAccountKey, getAccountKey({ database: postgres }))
  bind(operations.updateAccountKey, updateAccountKey(keys))
  bind(operations.rotateAccountKey, rotateAccountKey(keys))
  bind(operations.deleteAccountKey, deleteAccountKey(keys))
}
