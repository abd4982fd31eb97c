import { adminOpenapi } from '@kinora/contract/openapi'
/** The routes of operators: accounts, plans, keys, money, prices, providers, settings, and the log of all that. */
import { adminOperations } from '@kinora/contract/operations/admin-operations'

import { createAccount } from '../admin/accounts/create-account.ts'
import { endSubscription } from '../admin/accounts/end-subscription.ts'
import { getAccount } from '../admin/accounts/get-account.ts'
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
import type { PriceList } from '../billing/prices/price-list.ts'
import { implement, type FrontDoor } from '../http/server/bind-operation.ts'
import type { Catalog } from '../models/catalog.ts'
import type { Postgres } from '../platform/postgres.ts'
import type { Secret } from '../platform/secret.ts'
import type { KeptSetup } from '../provider-config/live-config.ts'
import { parseProviderEntry } from '../provider-config/provider-config.ts'
import type { Protocol } from '../providers/kit/protocol.ts'
import type { Router } from '../routing/route.ts'
import type { InstanceSettings } from '../settings/instance-settings.ts'

interface AdminDependencies {
  postgres: Postgres
  catalog: Catalog
  prices: PriceList
  settings: InstanceSettings
  /** New keys are hashed with the newest of them. */
  keySecrets: Secret[]
  publicUrl: string
  setup: KeptSetup
  router: Router
  protocols: Record<string, Protocol>
  credentialSecrets: Secret[]
}

export const wireAdmin = (door: FrontDoor, dependencies: AdminDependencies): void => {
  const { postgres, catalog, prices, settings, keySecrets, publicUrl } = dependencies
  const [keySecret] = keySecrets
  if (keySecret === undefined) throw new Error('at least one secret for hashing keys is needed')
  const database = postgres
  const forgetKeys = () => door.authenticate.forget()
  const description = adminOpenapi(publicUrl)

  implement(door, adminOperations.createAccount, createAccount({ postgres }))
  implement(door, adminOperations.listAccounts, listAccounts({ database }))
  implement(door, adminOperations.getAccount, getAccount({ database }))
  implement(door, adminOperations.updateAccount, updateAccount({ postgres, forgetKeys }))
  implement(door, adminOperations.createPlan, createPlan({ postgres }))
  implement(door, adminOperations.listPlans, listPlans({ database }))
  implement(door, adminOperations.getPlan, getPlan({ database }))
  implement(door, adminOperations.updatePlan, updatePlan({ postgres }))
  implement(door, adminOperations.deletePlan, deletePlan({ postgres }))
  implement(door, adminOperations.setSubscription, setSubscription({ postgres }))
  implement(door, adminOperations.endSubscription, endSubscription({ postgres }))
  implement(door, adminOperations.createKey, createKey({ postgres, catalog, keySecret }))
  implement(door, adminOperations.listKeys, listKeys({ database }))
  implement(door, adminOperations.getKey, getKey({ database }))
  implement(door, adminOperations.updateKey, updateKey({ postgres, catalog, forgetKeys }))
  implement(door, adminOperations.rotateKey, rotateKey({ postgres, keySecret, forgetKeys }))
  implement(door, adminOperations.deleteKey, deleteKey({ postgres, forgetKeys }))
  implement(door, adminOperations.createOperatorKey, createOperatorKey({ postgres, keySecret }))
  implement(door, adminOperations.createTopUp, createTopUp({ postgres }))
  implement(door, adminOperations.createAdjustment, createAdjustment({ postgres }))
  implement(door, adminOperations.listMovements, listMovements({ database }))
  implement(door, adminOperations.listLedgerEntries, listLedgerEntries({ database }))
  implement(door, adminOperations.getLedgerAudit, getLedgerAudit({ postgres }))
  implement(door, adminOperations.runLedgerAudit, runLedgerAudit({ postgres }))
  implement(door, adminOperations.listPrices, listPrices({ prices }))
  implement(door, adminOperations.setPrice, setPrice({ postgres, catalog, prices }))
  const { setup, router, protocols, credentialSecrets } = dependencies
  const providers = {
    ...{ postgres, database, catalog, setup, router, credentialSecrets },
    parseEntry: (name: string, entry: unknown) => parseProviderEntry(name, entry, protocols),
  }
  implement(door, adminOperations.listProviders, listProviders(providers))
  implement(door, adminOperations.getProvider, getProvider(providers))
  implement(door, adminOperations.setProvider, setProvider(providers))
  implement(door, adminOperations.deleteProvider, deleteProvider(providers))
  implement(door, adminOperations.resetProviderHealth, resetProviderHealth(providers))
  implement(door, adminOperations.getModelRoutes, getModelRoutes(providers))
  implement(door, adminOperations.setModelRoutes, setModelRoutes(providers))
  implement(door, adminOperations.deleteModelRoutes, deleteModelRoutes(providers))
  implement(door, adminOperations.listAuditEntries, listAuditEntries({ database }))
  implement(door, adminOperations.verifyAuditLog, verifyAuditLog({ database }))
  implement(door, adminOperations.getSettings, getSettings({ database, settings }))
  implement(door, adminOperations.updateSettings, updateSettings({ postgres, settings }))
  implement(door, adminOperations.getAdminOpenapi, async () => ({ body: description }))
}
