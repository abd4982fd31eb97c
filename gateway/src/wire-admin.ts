/** The routes of operators: accounts, plans, keys, money, prices, providers, settings, and the log of all that. */
import { adminOperations } from '@kinora/contract/admin-operations'
import { adminOpenapi } from '@kinora/contract/openapi'

import { createAccount } from './admin/create-account.ts'
import { createAdjustment } from './admin/create-adjustment.ts'
import { createKey } from './admin/create-key.ts'
import { createOperatorKey } from './admin/create-operator-key.ts'
import { createPlan } from './admin/create-plan.ts'
import { createTopUp } from './admin/create-top-up.ts'
import { deleteKey } from './admin/delete-key.ts'
import { deleteModelRoutes } from './admin/delete-model-routes.ts'
import { deletePlan } from './admin/delete-plan.ts'
import { deleteProvider } from './admin/delete-provider.ts'
import { endSubscription } from './admin/end-subscription.ts'
import { getAccount } from './admin/get-account.ts'
import { getKey } from './admin/get-key.ts'
import { getLedgerAudit } from './admin/get-ledger-audit.ts'
import { getModelRoutes } from './admin/get-model-routes.ts'
import { getPlan } from './admin/get-plan.ts'
import { getProvider } from './admin/get-provider.ts'
import { getSettings } from './admin/get-settings.ts'
import { listAccounts } from './admin/list-accounts.ts'
import { listAuditEntries } from './admin/list-audit-entries.ts'
import { listKeys } from './admin/list-keys.ts'
import { listLedgerEntries } from './admin/list-ledger-entries.ts'
import { listMovements } from './admin/list-movements.ts'
import { listPlans } from './admin/list-plans.ts'
import { listPrices } from './admin/list-prices.ts'
import { listProviders } from './admin/list-providers.ts'
import { resetProviderHealth } from './admin/reset-provider-health.ts'
import { rotateKey } from './admin/rotate-key.ts'
import { runLedgerAudit } from './admin/run-ledger-audit.ts'
import { setModelRoutes } from './admin/set-model-routes.ts'
import { setPrice } from './admin/set-price.ts'
import { setProvider } from './admin/set-provider.ts'
import { setSubscription } from './admin/set-subscription.ts'
import { updateAccount } from './admin/update-account.ts'
import { updateKey } from './admin/update-key.ts'
import { updatePlan } from './admin/update-plan.ts'
import { updateSettings } from './admin/update-settings.ts'
import { verifyAuditLog } from './admin/verify-audit-log.ts'
import type { PriceList } from './billing/price-list.ts'
import { implement, type FrontDoor } from './http/implement.ts'
import type { Catalog } from './models/catalog.ts'
import type { Postgres } from './platform/postgres.ts'
import type { Secret } from './platform/secret.ts'
import type { Protocol } from './providers/kit/protocol.ts'
import type { Router } from './routing/route.ts'
import type { InstanceSettings } from './settings/instance-settings.ts'
import type { KeptSetup } from './setup/live-setup.ts'
import { parseProviderEntry } from './setup/provider-entry.ts'

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
