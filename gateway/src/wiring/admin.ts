/** Every operation of the admin API. */
import { adminOperations } from '@kinora/contract/admin-operations'
import { adminOpenapi } from '@kinora/contract/openapi'

import { createAccount } from '../admin/accounts/create-account.ts'
import { endSubscription } from '../admin/accounts/end-subscription.ts'
import { getAccount } from '../admin/accounts/get-account.ts'
import { getTotalUsage } from '../admin/accounts/get-total-usage.ts'
import { listAccounts } from '../admin/accounts/list-accounts.ts'
import { setSubscription } from '../admin/accounts/set-subscription.ts'
import { updateAccount } from '../admin/accounts/update-account.ts'
import { listAuditEntries } from '../admin/audit-log/list-audit-entries.ts'
import { verifyAuditLog } from '../admin/audit-log/verify-audit-log.ts'
import { createKey } from '../admin/keys/create-key.ts'
import { createOperatorKey } from '../admin/keys/create-operator-key.ts'
import { deleteKey } from '../admin/keys/delete-key.ts'
import { getKey } from '../admin/keys/get-key.ts'
import { listKeys } from '../admin/keys/list-keys.ts'
import { rotateKey } from '../admin/keys/rotate-key.ts'
import { updateKey } from '../admin/keys/update-key.ts'
import { createAdjustment } from '../admin/ledger/create-adjustment.ts'
import { createTopUp } from '../admin/ledger/create-top-up.ts'
import { getAnyReceipt } from '../admin/ledger/get-any-receipt.ts'
import { getLedgerAudit } from '../admin/ledger/get-ledger-audit.ts'
import { listLedgerEntries } from '../admin/ledger/list-ledger-entries.ts'
import { listMovements } from '../admin/ledger/list-movements.ts'
import { runLedgerAudit } from '../admin/ledger/run-ledger-audit.ts'
import { deleteModelRoutes } from '../admin/models/delete-model-routes.ts'
import { getModelRoutes } from '../admin/models/get-model-routes.ts'
import { setModelRoutes } from '../admin/models/set-model-routes.ts'
import { createPlan } from '../admin/plans/create-plan.ts'
import { deletePlan } from '../admin/plans/delete-plan.ts'
import { getPlan } from '../admin/plans/get-plan.ts'
import { listPlans } from '../admin/plans/list-plans.ts'
import { updatePlan } from '../admin/plans/update-plan.ts'
import { listPrices } from '../admin/prices/list-prices.ts'
import { setPrice } from '../admin/prices/set-price.ts'
import { deleteProvider } from '../admin/providers/delete-provider.ts'
import { getProvider } from '../admin/providers/get-provider.ts'
import { listProviders } from '../admin/providers/list-providers.ts'
import { resetProviderHealth } from '../admin/providers/reset-provider-health.ts'
import { setProvider } from '../admin/providers/set-provider.ts'
import { getSettings } from '../admin/settings/get-settings.ts'
import { updateSettings } from '../admin/settings/update-settings.ts'
import { cancelTask } from '../admin/tasks/cancel-task.ts'
import { getTask } from '../admin/tasks/get-task.ts'
import { listRequests } from '../admin/tasks/list-requests.ts'
import { listTasks } from '../admin/tasks/list-tasks.ts'
import { retryTask } from '../admin/tasks/retry-task.ts'
import { portraitsOf } from '../characters/character-store.ts'
import { bindOperation, type ApiServer } from '../http/server/bind-operation.ts'
import { parseProviderConfig } from '../provider-config/provider-config.ts'
import type { SettleDependencies } from '../transcription-tasks/lifecycle/settle-transcription.ts'
import type { ApiContext } from './api-context.ts'
import type { VideoTasks } from './videos.ts'

export const bindAdmin = (
  server: ApiServer,
  context: ApiContext,
  { admitVideo, readTask, cancelTask: cancelVideo }: VideoTasks,
  transcriptions: SettleDependencies,
): void => {
  const { config, postgres, catalog, prices, settings, liveConfig, router } = context
  // New keys are hashed with the newest secret.
  const [keySecret] = config.KEY_HASH_SECRETS
  if (keySecret === undefined) throw new Error('KEY_HASH_SECRETS must hold at least one secret.')
  const database = postgres
  const forgetKeys = () => server.authenticate.forget()
  const description = adminOpenapi(config.adminUrl)
  const providers = {
    ...{ postgres, database, catalog, liveConfig, router },
    credentialSecrets: config.CREDENTIAL_SECRETS,
    parseConfig: (name: string, text: unknown) => parseProviderConfig(name, text, config.protocols),
  }
  const retry = {
    ...{ database, catalog, admitVideo, readTask },
    charactersLeft: async (ids: string[]) => new Set((await portraitsOf(postgres, ids)).keys()),
  }
  const cancel = { cancelVideo, recordings: transcriptions }

  bindOperation(server, adminOperations.createAccount, createAccount({ postgres }))
  bindOperation(server, adminOperations.listAccounts, listAccounts({ database }))
  bindOperation(server, adminOperations.getAccount, getAccount({ database }))
  bindOperation(server, adminOperations.updateAccount, updateAccount({ postgres, forgetKeys }))
  bindOperation(server, adminOperations.createPlan, createPlan({ postgres }))
  bindOperation(server, adminOperations.listPlans, listPlans({ database }))
  bindOperation(server, adminOperations.getPlan, getPlan({ database }))
  bindOperation(server, adminOperations.updatePlan, updatePlan({ postgres }))
  bindOperation(server, adminOperations.deletePlan, deletePlan({ postgres }))
  bindOperation(server, adminOperations.setSubscription, setSubscription({ postgres }))
  bindOperation(server, adminOperations.endSubscription, endSubscription({ postgres }))
  bindOperation(server, adminOperations.createKey, createKey({ postgres, catalog, keySecret }))
  bindOperation(server, adminOperations.listKeys, listKeys({ database }))
  bindOperation(server, adminOperations.getKey, getKey({ database }))
  bindOperation(server, adminOperations.updateKey, updateKey({ postgres, catalog, forgetKeys }))
  bindOperation(server, adminOperations.rotateKey, rotateKey({ postgres, keySecret, forgetKeys }))
  bindOperation(server, adminOperations.deleteKey, deleteKey({ postgres, forgetKeys }))
  bindOperation(server, adminOperations.createOperatorKey, createOperatorKey({ postgres, keySecret }))
  bindOperation(server, adminOperations.createTopUp, createTopUp({ postgres }))
  bindOperation(server, adminOperations.createAdjustment, createAdjustment({ postgres }))
  bindOperation(server, adminOperations.listMovements, listMovements({ database }))
  bindOperation(server, adminOperations.listLedgerEntries, listLedgerEntries({ database }))
  bindOperation(server, adminOperations.getLedgerAudit, getLedgerAudit({ postgres }))
  bindOperation(server, adminOperations.runLedgerAudit, runLedgerAudit({ postgres }))
  bindOperation(server, adminOperations.listPrices, listPrices({ prices }))
  bindOperation(server, adminOperations.setPrice, setPrice({ postgres, catalog, prices }))
  bindOperation(server, adminOperations.listProviders, listProviders(providers))
  bindOperation(server, adminOperations.getProvider, getProvider(providers))
  bindOperation(server, adminOperations.setProvider, setProvider(providers))
  bindOperation(server, adminOperations.deleteProvider, deleteProvider(providers))
  bindOperation(server, adminOperations.resetProviderHealth, resetProviderHealth(providers))
  bindOperation(server, adminOperations.getModelRoutes, getModelRoutes(providers))
  bindOperation(server, adminOperations.setModelRoutes, setModelRoutes(providers))
  bindOperation(server, adminOperations.deleteModelRoutes, deleteModelRoutes(providers))
  bindOperation(server, adminOperations.listTasks, listTasks({ postgres }))
  bindOperation(server, adminOperations.getTask, getTask({ database }))
  bindOperation(server, adminOperations.retryTask, retryTask(retry))
  bindOperation(server, adminOperations.cancelTask, cancelTask(cancel))
  bindOperation(server, adminOperations.listRequests, listRequests({ postgres }))
  bindOperation(server, adminOperations.getAnyReceipt, getAnyReceipt({ database }))
  bindOperation(server, adminOperations.getTotalUsage, getTotalUsage({ postgres }))
  bindOperation(server, adminOperations.listAuditEntries, listAuditEntries({ database }))
  bindOperation(server, adminOperations.verifyAuditLog, verifyAuditLog({ database }))
  bindOperation(server, adminOperations.getSettings, getSettings({ database, settings }))
  bindOperation(server, adminOperations.updateSettings, updateSettings({ postgres, settings }))
  bindOperation(server, adminOperations.getAdminOpenapi, async () => ({ body: description }))
}
