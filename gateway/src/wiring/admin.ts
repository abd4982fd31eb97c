/** Every operation of the admin API. */
import { adminOperations } from '@kinora/contract/admin-operations'
import { adminOpenapi } from '@kinora/contract/openapi'
import type { Operation } from '@kinora/contract/operation'

import { createAccount } from '../admin/accounts/create-account.ts'
import { endSubscription } from '../admin/accounts/end-subscription.ts'
import { eraseAccount } from '../admin/accounts/erase-account.ts'
import { getAccount } from '../admin/accounts/get-account.ts'
import { getErasure } from '../admin/accounts/get-erasure.ts'
import { getTotalUsage } from '../admin/accounts/get-total-usage.ts'
import { listAccounts } from '../admin/accounts/list-accounts.ts'
import { setSubscription } from '../admin/accounts/set-subscription.ts'
import { updateAccount } from '../admin/accounts/update-account.ts'
import type { AdminHandler } from '../admin/admin-call.ts'
import { actorOf, createAuditLog } from '../admin/audit-log/audit.ts'
import { listAuditEntries } from '../admin/audit-log/list-audit-entries.ts'
import { verifyAuditLog } from '../admin/audit-log/verify-audit-log.ts'
import { listAllEvents } from '../admin/events/list-all-events.ts'
import { explainTask } from '../admin/explanations/explain-task.ts'
import { getHealth } from '../admin/health/get-health.ts'
import { createKey } from '../admin/keys/create-key.ts'
import { createOperatorKey } from '../admin/keys/create-operator-key.ts'
import { deleteKey } from '../admin/keys/delete-key.ts'
import { getKey } from '../admin/keys/get-key.ts'
import { listKeys } from '../admin/keys/list-keys.ts'
import { rotateKey } from '../admin/keys/rotate-key.ts'
import { updateKey } from '../admin/keys/update-key.ts'
import { createAdjustment } from '../admin/ledger/create-adjustment.ts'
import { createRefund } from '../admin/ledger/create-refund.ts'
import { createTopUp } from '../admin/ledger/create-top-up.ts'
import { getAnyReceipt } from '../admin/ledger/get-any-receipt.ts'
import { getLedgerAudit } from '../admin/ledger/get-ledger-audit.ts'
import { listLedgerEntries } from '../admin/ledger/list-ledger-entries.ts'
import { listMovements } from '../admin/ledger/list-movements.ts'
import { runLedgerAudit } from '../admin/ledger/run-ledger-audit.ts'
import { deleteModelEntry } from '../admin/models/delete-model-entry.ts'
import { deleteModelRoutes } from '../admin/models/delete-model-routes.ts'
import { explainModelRoutes } from '../admin/models/explain-model-routes.ts'
import { getModelEntry } from '../admin/models/get-model-entry.ts'
import { getModelRoutes } from '../admin/models/get-model-routes.ts'
import { listModelEntries } from '../admin/models/list-model-entries.ts'
import { listModelKinds } from '../admin/models/list-model-kinds.ts'
import { setModelEntry } from '../admin/models/set-model-entry.ts'
import { setModelRoutes } from '../admin/models/set-model-routes.ts'
import { getOverview } from '../admin/overview/get-overview.ts'
import { createPlan } from '../admin/plans/create-plan.ts'
import { deletePlan } from '../admin/plans/delete-plan.ts'
import { getPlan } from '../admin/plans/get-plan.ts'
import { listPlans } from '../admin/plans/list-plans.ts'
import { updatePlan } from '../admin/plans/update-plan.ts'
import { listPrices } from '../admin/prices/list-prices.ts'
import { setPrice } from '../admin/prices/set-price.ts'
import { deleteProvider } from '../admin/providers/delete-provider.ts'
import { getProvider } from '../admin/providers/get-provider.ts'
import { listProviderProtocols } from '../admin/providers/list-provider-protocols.ts'
import { listProviders } from '../admin/providers/list-providers.ts'
import { resetProviderHealth } from '../admin/providers/reset-provider-health.ts'
import { setProvider } from '../admin/providers/set-provider.ts'
import { testProvider } from '../admin/providers/test-provider.ts'
import { getSettings } from '../admin/settings/get-settings.ts'
import { updateSettings } from '../admin/settings/update-settings.ts'
import { getAccountStatement } from '../admin/statements/get-account-statement.ts'
import { listAccountStatements } from '../admin/statements/list-account-statements.ts'
import { cancelTask } from '../admin/tasks/cancel-task.ts'
import { getRequest } from '../admin/tasks/get-request.ts'
import { getTaskContent } from '../admin/tasks/get-task-content.ts'
import { getTaskOrder } from '../admin/tasks/get-task-order.ts'
import { getTask } from '../admin/tasks/get-task.ts'
import { listRequestErrors } from '../admin/tasks/list-request-errors.ts'
import { listRequests } from '../admin/tasks/list-requests.ts'
import { listTasks } from '../admin/tasks/list-tasks.ts'
import { resolveTask } from '../admin/tasks/resolve-task.ts'
import { retryTask } from '../admin/tasks/retry-task.ts'
import { portraitsOf } from '../characters/character-store.ts'
import { createErasureList } from '../erasure/erasure-list.ts'
import type { FollowFeed } from '../event-feed/follow-feed.ts'
import { bindOperation, type ApiServer } from '../http/server/bind-operation.ts'
import { dailyBudgetsOf, refreshSpend } from '../provider-budgets/budgets.ts'
import { parseProviderConfig } from '../provider-config/provider-config.ts'
import { getTaskTimeline } from '../timelines/get-task-timeline.ts'
import type { SettleDependencies } from '../transcription-tasks/lifecycle/settle-transcription.ts'
import type { ApiContext } from './api-context.ts'
import { feedDependencies } from './events.ts'
import { readIssuer } from './issuer.ts'
import type { VideoTasks } from './videos.ts'

/** Operators see what a provider has cost up to this time ago. */
const spendAgeMsMax = 1_000

export const bindAdmin = (
  server: ApiServer,
  context: ApiContext,
  { admitVideo, readTask, files, taskDays, cancelTask: cancelVideo, settle }: VideoTasks,
  transcriptions: SettleDependencies,
  feed: FollowFeed,
): void => {
  const { config, postgres, wholeCatalog: catalog, prices, settings, liveConfig, router, keySecret } = context
  const database = postgres
  const forgetKeys = () => server.authenticate.forget()
  const description = adminOpenapi(config.adminUrl)
  const providers = {
    ...{ postgres, database, catalog, liveConfig, router },
    readSpend: async () => {
      try {
        return await refreshSpend(context, dailyBudgetsOf(liveConfig.current()), spendAgeMsMax)
      } catch (error) {
        // Operators need the rest most when the database is slow.
        context.log.warn({ err: error }, 'provider-budget.not-read')
        return new Map()
      }
    },
    currency: config.CURRENCY,
    credentialSecrets: config.CREDENTIAL_SECRETS,
    parseConfig: (name: string, text: unknown) => parseProviderConfig(name, text, config.protocols),
  }
  const retry = {
    ...{ database, catalog, admitVideo, readTask },
    charactersLeft: async (ids: string[]) => new Set((await portraitsOf(postgres, ids)).keys()),
  }
  const cancel = { cancelVideo, recordings: transcriptions }
  const auditLog = createAuditLog(config.AUDIT_SECRETS)
  const bind = <O extends Operation>(operation: O, handler: AdminHandler<O>) =>
    bindOperation(server, operation, (call) =>
      handler({
        ...call,
        audit: (within, change) =>
          auditLog.append(within, { actor: actorOf(call.operator), requestId: call.requestId }, change),
      }),
    )

  bind(adminOperations.createAccount, createAccount({ postgres }))
  bind(adminOperations.listAccounts, listAccounts({ database }))
  bind(adminOperations.getAccount, getAccount({ database }))
  bind(adminOperations.updateAccount, updateAccount({ postgres, forgetKeys }))
  const erasureList = createErasureList(context.erasureStore)
  bind(adminOperations.eraseAccount, eraseAccount({ postgres, erasureList, forgetKeys }))
  bind(adminOperations.getErasure, getErasure({ database }))
  bind(adminOperations.createPlan, createPlan({ postgres }))
  bind(adminOperations.listPlans, listPlans({ database }))
  bind(adminOperations.getPlan, getPlan({ database }))
  bind(adminOperations.updatePlan, updatePlan({ postgres }))
  bind(adminOperations.deletePlan, deletePlan({ postgres }))
  bind(adminOperations.setSubscription, setSubscription({ postgres }))
  bind(adminOperations.endSubscription, endSubscription({ postgres }))
  bind(adminOperations.createKey, createKey({ postgres, catalog, keySecret }))
  bind(adminOperations.listKeys, listKeys({ database }))
  bind(adminOperations.getKey, getKey({ database }))
  bind(adminOperations.updateKey, updateKey({ postgres, catalog, forgetKeys }))
  bind(adminOperations.rotateKey, rotateKey({ postgres, keySecret, forgetKeys }))
  bind(adminOperations.deleteKey, deleteKey({ postgres, forgetKeys }))
  bind(adminOperations.createOperatorKey, createOperatorKey({ postgres, keySecret }))
  bind(adminOperations.createTopUp, createTopUp({ postgres }))
  bind(adminOperations.createAdjustment, createAdjustment({ postgres }))
  bind(adminOperations.createRefund, createRefund({ postgres }))
  bind(adminOperations.listMovements, listMovements({ database }))
  bind(adminOperations.listAccountStatements, listAccountStatements({ postgres }))
  bind(adminOperations.getAccountStatement, getAccountStatement({ postgres, issuer: readIssuer(config) }))
  bind(adminOperations.listLedgerEntries, listLedgerEntries({ database }))
  bind(adminOperations.getLedgerAudit, getLedgerAudit({ postgres }))
  bind(adminOperations.runLedgerAudit, runLedgerAudit({ postgres }))
  bind(adminOperations.listPrices, listPrices({ prices }))
  bind(adminOperations.setPrice, setPrice({ postgres, catalog, prices }))
  bind(
    adminOperations.getOverview,
    getOverview({
      ...providers,
      spoolDirectory: context.spool.directory,
      findStorageProblem: async () => context.mediaStore.findProblem?.(),
    }),
  )
  bind(adminOperations.getHealth, getHealth({ ...providers, offered: context.catalog }))
  bind(adminOperations.listProviderProtocols, listProviderProtocols({ protocols: config.protocols }))
  bind(adminOperations.listProviders, listProviders(providers))
  bind(adminOperations.getProvider, getProvider(providers))
  bind(adminOperations.setProvider, setProvider(providers))
  bind(adminOperations.deleteProvider, deleteProvider(providers))
  bind(adminOperations.resetProviderHealth, resetProviderHealth(providers))
  bind(adminOperations.testProvider, testProvider({ ...providers, providers: context.providers }))
  bind(adminOperations.listModelKinds, listModelKinds())
  bind(adminOperations.listModelEntries, listModelEntries(providers))
  bind(adminOperations.getModelEntry, getModelEntry(providers))
  bind(adminOperations.setModelEntry, setModelEntry(providers))
  bind(adminOperations.deleteModelEntry, deleteModelEntry(providers))
  bind(adminOperations.getModelRoutes, getModelRoutes(providers))
  bind(adminOperations.explainModelRoutes, explainModelRoutes({ ...providers, prices }))
  bind(adminOperations.setModelRoutes, setModelRoutes(providers))
  bind(adminOperations.deleteModelRoutes, deleteModelRoutes(providers))
  bind(adminOperations.listTasks, listTasks({ postgres }))
  bind(adminOperations.getTask, getTask({ database }))
  bind(adminOperations.explainTask, explainTask({ database }))
  bind(adminOperations.getTaskOrder, getTaskOrder({ postgres }))
  bind(adminOperations.getTaskTimeline, getTaskTimeline({ database, taskDays }))
  bind(adminOperations.getTaskContent, getTaskContent({ postgres, readTask, catalog, files }))
  bind(adminOperations.retryTask, retryTask(retry))
  bind(adminOperations.cancelTask, cancelTask(cancel))
  bind(adminOperations.resolveTask, resolveTask({ settle, router, wakeDispatcher: settle.onSlotFreed }))
  bind(adminOperations.listAllEvents, listAllEvents(feedDependencies(context, feed)))
  bind(adminOperations.listRequestErrors, listRequestErrors({ postgres }))
  bind(adminOperations.listRequests, listRequests({ postgres }))
  bind(adminOperations.getRequest, getRequest({ postgres }))
  bind(adminOperations.getAnyReceipt, getAnyReceipt({ database }))
  bind(adminOperations.getTotalUsage, getTotalUsage({ postgres }))
  bind(adminOperations.listAuditEntries, listAuditEntries({ database }))
  bind(adminOperations.verifyAuditLog, verifyAuditLog({ database, auditLog }))
  bind(adminOperations.getSettings, getSettings({ database, settings }))
  bind(adminOperations.updateSettings, updateSettings({ postgres, settings }))
  bind(adminOperations.getAdminOpenapi, async () => ({ body: description }))
}
