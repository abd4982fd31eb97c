/** Calls every admin operation once. The account and the key that it creates are those of the public calls. */
import type { Recorder } from './record.ts'
import type { CreatedTasks } from './run-public-operations.ts'

export interface Customer {
  accountId: string
  keyId: string
  key: string
}

const inOneYear = () => Math.floor(Date.now() / 1000) + 365 * 86_400

/** Creates the account, its balance and its key. */
export const createCustomer = async ({ call }: Recorder): Promise<Customer> => {
  const account = await call('createAccount', { json: { name: 'Example Studio' } })
  const path = { id: account.id }
  await call('createTopUp', {
    path,
    json: { amount_micros: 50_000_000, reason: 'Invoice paid', reference: 'INV-1001' },
  })
  const { key, secret } = await call('createKey', {
    path,
    json: { kind: 'payg', name: 'production', scopes: ['create', 'read', 'account'] },
  })
  return { accountId: account.id, keyId: (key as { id: string }).id, key: String(secret) }
}

const runAccounts = async ({ call }: Recorder, { accountId }: Customer) => {
  const path = { id: accountId }
  const plan = await call('createPlan', {
    json: { name: 'Studio', cycle_quota_micros: 100_000_000, cycle_days: 30 },
  })
  const planPath = { id: plan.id }
  await call('setSubscription', { path, json: { plan_id: plan.id, ends_at: inOneYear() } })
  await call('getPlan', { path: planPath })
  await call('listPlans', { query: { limit: '1' } })
  await call('endSubscription', { path })
  await call('updatePlan', { path: planPath, json: { cycle_quota_micros: 120_000_000 } })
  await call('deletePlan', { path: planPath })
  await call('createAdjustment', { path, json: { amount_micros: -1_000_000, reason: 'Duplicate top-up' } })
  await call('updateAccount', { path, json: { spend_cap_micros: 200_000_000 } })
  await call('getAccount', { path })
  await call('listAccounts', { query: { name: 'Example', limit: '1' } })
  await call('listMovements', { path, query: { limit: '1' } })
  await call('listAccountStatements', { path })
  await call('getAccountStatement', {
    path: { ...path, month: new Date().toISOString().slice(0, 7) },
  })
}

const runErasure = async ({ call }: Recorder) => {
  const { id } = await call('createAccount', { json: { name: 'Former Studio' } })
  await call('eraseAccount', { path: { id } })
  await call('getErasure', { path: { id } })
}

const runKeys = async ({ call }: Recorder, { accountId, keyId }: Customer) => {
  await call('updateKey', { path: { id: keyId }, json: { models: ['vidB-2'], quota_micros: 20_000_000 } })
  await call('getKey', { path: { id: keyId } })
  await call('listKeys', { query: { account_id: accountId, limit: '1' } })
  const { key } = await call('rotateKey', { path: { id: keyId }, json: { overlap_seconds: 3600 } })
  await call('deleteKey', { path: { id: (key as { id: string }).id } })
  await call('createOperatorKey', { json: { name: 'billing', role: 'finance' } })
}

const runProviders = async ({ call }: Recorder) => {
  await call('getOverview')
  await call('getHealth')
  await call('listProviderProtocols')
  await call('listModelKinds')
  await call('listProviders', { query: { limit: '1' } })
  await call('getProvider', { path: { name: 'local' } })
  const model = { id: 'vidB-2' }
  await call('listModelEntries', { query: { limit: '1' } })
  const added = { id: 'clip-1' }
  await call('setModelEntry', {
    path: added,
    json: {
      settings: {
        ...{
          kind: 'video',
          family: 'B',
          seconds: [4, 8],
          sizes: ['1280x720'],
          prices: [
            { unit: 'second', micros: 250_000 },
            { unit: 'second', micros: 200_000, sound: false },
          ],
          sound: 'optional',
        },
        ...{ aliases: { 'sora-2': {} }, routes: [{ provider: 'local' }] },
      },
    },
  })
  await call('getModelEntry', { path: added })
  await call('deleteModelEntry', { path: added })
  await call('getModelRoutes', { path: model })
  await call('setModelRoutes', {
    path: model,
    json: { routes: [{ provider: 'local', order: 1, weight: 1, slots: 2 }] },
  })
  await call('explainModelRoutes', { path: model, json: { seconds: 8, size: '1280x720' } })
  await call('deleteModelRoutes', { path: model })
  await call('resetProviderHealth', { path: { name: 'local' } })
  await call('testProvider', { path: { name: 'local' } })
  const path = { name: 'vendor' }
  await call('setProvider', {
    path,
    json: {
      ...{ kind: 'openai', base_url: 'https://vendor.example/v1', api_key: 'vendor-api-key', slots: 20 },
      ...{ budget_per_day_micros: 200_000_000, budget_stops: true },
    },
  })
  await call('deleteProvider', { path })
}

const runTasks = async ({ call, callUntil }: Recorder, customer: Customer, tasks: CreatedTasks) => {
  await call('getTask', { path: { id: tasks.completed } })
  await call('explainTask', { path: { id: tasks.completed } })
  await call('getTaskTimeline', { path: { id: tasks.completed } })
  await call('getTaskContent', { path: { id: tasks.completed } })
  await call('getTaskOrder', { path: { id: tasks.completed } })
  await call('listAllEvents', {
    query: { account_id: customer.accountId, type: 'video.completed', limit: '1' },
  })
  await call('listTasks', { query: { account_id: customer.accountId, status: 'failed', limit: '1' } })
  const retried = await call('retryTask', { path: { id: tasks.cancelled } })
  await call('cancelTask', { path: { id: retried.id } })
  await call('resolveTask', { path: { id: retried.id }, json: { action: 'fail' } })
  await call('createRefund', {
    path: { id: tasks.completed },
    json: { amount_micros: 100_000, reason: 'Flickering video', reference: 'TICKET-17' },
  })
  await call('getAnyReceipt', { path: { id: tasks.completed } })
  await call('listLedgerEntries', { query: { task_id: tasks.completed, limit: '2' } })
  await call('getTotalUsage', { query: { group_by: 'model', account_id: customer.accountId } })
  // The request log is written with a short delay.
  const requests = await callUntil(
    'listRequests',
    { query: { task_id: tasks.completed, operation: 'createVideo', limit: '1' } },
    ({ data }) => (data as unknown[]).length > 0,
  )
  const [request] = requests['data'] as { id: string }[]
  await call('listRequestErrors', { query: { limit: '1' } })
  await call('getRequest', { path: { id: request?.id ?? '' } })
}

export const runAdminOperations = async (
  recorder: Recorder,
  customer: Customer,
  tasks: CreatedTasks,
): Promise<void> => {
  const { call } = recorder
  await runTasks(recorder, customer, tasks)
  await runAccounts(recorder, customer)
  await runErasure(recorder)
  await runKeys(recorder, customer)
  await call('listPrices', { query: { model: 'vidB-2' } })
  await call('setPrice', { json: { model: 'vidB-2', unit: 'second', unit_micros: 90_000 } })
  await runProviders(recorder)
  await call('runLedgerAudit')
  await call('getLedgerAudit')
  await call('getSettings')
  await call('updateSettings', { json: { media_retention_days: 14 } })
  await call('listAuditEntries', { query: { action: 'updateSettings', limit: '1' } })
  await call('verifyAuditLog')
  await call('getAdminOpenapi')
}
