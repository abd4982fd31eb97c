/**
 * Only operators can use the admin API. Generated from the table of operations: each has a row here with a valid request,
 * so that only the missing permission can refuse it.
 */
import { randomBytes, randomUUID } from 'node:crypto'

import { adminOperations, type AdminOperationId } from '@kinora/contract/admin-operations'
import type { ErrorCode } from '@kinora/contract/errors'
import type { Operation } from '@kinora/contract/operation'
import { operatorRoles, type OperatorRole } from '@kinora/contract/operator-key'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { deleteKey } from '../../src/auth/key-store.ts'
import { createRequestId } from '../../src/platform/ids/request-id.ts'
import { insertRequests } from '../../src/request-log/request-log-store.ts'
import { ask, askJson, expectProblem } from '../kit/answers.ts'
import { completeTask, createAccount, createKey, endTask, subscribe } from '../kit/factories.ts'
import { createOperator, fillPath, type Given, type Operator } from '../kit/operator.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'
import { columnsOf, tablesWith, wholeRecordOf } from '../kit/whole-record.ts'

let gateway: TestGateway
let operator: Operator
let unsupportedLetters: { who: string; text: string | undefined; code: ErrorCode }[]

beforeAll(async () => {
  gateway = await startGateway()
  operator = await createOperator(gateway)
  const { postgres } = gateway.database
  const accountId = await createAccount(postgres)
  await subscribe(postgres, accountId)
  const keyOf = async (traits: Parameters<typeof createKey>[2], isDeleted = false) => {
    const { id, text } = await createKey(postgres, accountId, traits)
    if (isDeleted) await deleteKey(postgres, id)
    return text
  }
  const expiresAt = new Date(Date.now() - 1_000)
  const disabled = await createKey(postgres, '', { kind: 'admin' })
  await postgres.query('update keys set disabled_at = now() where id = $1', [disabled.id])
  unsupportedLetters = [
    { who: 'nobody', text: undefined, code: 'missing_api_key' },
    { who: 'a payg key', text: await keyOf({}), code: 'access_denied' },
    { who: 'a subscription key', text: await keyOf({ kind: 'subscription' }), code: 'access_denied' },
    { who: 'a deleted key', text: await keyOf({}, true), code: 'invalid_api_key' },
    { who: 'an expired key', text: await keyOf({ expiresAt }), code: 'expired_api_key' },
    {
      who: 'a deleted key of an operator',
      text: await keyOf({ kind: 'admin' }, true),
      code: 'invalid_api_key',
    },
    {
      who: 'an expired key of an operator',
      text: await keyOf({ kind: 'admin', expiresAt }),
      code: 'expired_api_key',
    },
    { who: 'a disabled key of an operator', text: disabled.text, code: 'access_denied' },
  ]
})
afterAll(() => gateway[Symbol.asyncDispose]())

const account = () => createAccount(gateway.database.postgres)
const key = async () => (await createKey(gateway.database.postgres, await account())).id
const planFields = () => ({ name: randomUUID(), cycle_quota_micros: 5, cycle_days: 30 })
const erased = async () => {
  const id = await account()
  await operator.call('eraseAccount', { id })
  return id
}
const plan = async () => String((await operator.call('createPlan', { body: planFields() })).id)
const subscription = async () => ({
  plan_id: await plan(),
  ends_at: Math.floor(Date.now() / 1000) + 86_400,
})
const subscribed = async () => {
  const id = await account()
  await operator.call('setSubscription', { id, body: await subscription() })
  return id
}
const task = async () => {
  const { text } = await createKey(gateway.database.postgres, await account())
  const order = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480' }
  return String((await askJson(`${gateway.url}/v1/videos`, text, order)).body['id'])
}
const completedTask = async () => {
  const id = await task()
  await completeTask(gateway, await account(), id)
  return id
}
const loggedRequest = async () => {
  const id = createRequestId()
  const request = {
    ...{ id, at: new Date(), accountId: null, keyId: null, operation: 'listModels', method: 'GET' },
    ...{ path: '/v1/models', status: 200, errorCode: null, model: null, provider: null, taskId: null },
    ...{ durationMs: 1, address: '127.0.0.1', userAgent: null },
  }
  await insertRequests(gateway.database.postgres, [request])
  return id
}
const failedTask = async () => {
  const id = await task()
  await endTask(gateway.database.postgres, id, {
    kind: 'failed',
    code: 'upstream_error',
    message: 'It broke.',
  })
  return id
}
const entry = { kind: 'openai', base_url: 'https://vendor.example' }
const provider = async () => {
  const name = `vendor-${randomUUID()}`
  await operator.call('setProvider', { id: name, body: entry })
  return name
}

const modelEntry = async () => {
  const id = `say-${randomUUID()}`
  const settings = { kind: 'speech', voices: ['Al'], prices: [{ unit: 'million_characters', micros: 5 }] }
  await operator.call('setModelEntry', { id, body: { settings } })
  return id
}

const currentMonth = () => new Date().toISOString().slice(0, 7)

const rows: Record<string, () => Promise<Given>> = {
  createAccount: async () => ({ body: { name: 'Aquarium' } }),
  listAccounts: async () => ({}),
  getAccount: async () => ({ id: await account() }),
  updateAccount: async () => ({ id: await account(), body: { status: 'suspended' } }),
  eraseAccount: async () => ({ id: await account() }),
  getErasure: async () => ({ id: await erased() }),
  createPlan: async () => ({ body: planFields() }),
  listPlans: async () => ({}),
  getPlan: async () => ({ id: await plan() }),
  updatePlan: async () => ({ id: await plan(), body: { cycle_quota_micros: 9 } }),
  deletePlan: async () => ({ id: await plan() }),
  setSubscription: async () => ({ id: await account(), body: await subscription() }),
  endSubscription: async () => ({ id: await subscribed() }),
  createKey: async () => ({ id: await account(), body: { kind: 'payg' } }),
  listKeys: async () => ({}),
  getKey: async () => ({ id: await key() }),
  updateKey: async () => ({ id: await key(), body: { disabled: true } }),
  rotateKey: async () => ({ id: await key(), body: { overlap_seconds: 60 } }),
  deleteKey: async () => ({ id: await key() }),
  createOperatorKey: async () => ({ body: { name: 'day shift', role: 'read' } }),
  createTopUp: async () => ({ id: await account(), body: { amount_micros: 7, reason: 'An invoice' } }),
  createAdjustment: async () => ({ id: await account(), body: { amount_micros: -7, reason: 'A mistake' } }),
  createRefund: async () => ({ id: await completedTask(), body: { reason: 'A bad video' } }),
  listMovements: async () => ({ id: await account() }),
  listAccountStatements: async () => ({ id: await account() }),
  getAccountStatement: async () => ({ id: await account(), path: { month: currentMonth() } }),
  listLedgerEntries: async () => ({}),
  getLedgerAudit: async () => ({}),
  runLedgerAudit: async () => ({}),
  getAnyReceipt: async () => ({ id: await task() }),
  listPrices: async () => ({}),
  setPrice: async () => ({ body: { model: 'vidB-2', unit: 'second', unit_micros: 1 } }),
  getOverview: async () => ({}),
  getHealth: async () => ({}),
  listProviderProtocols: async () => ({}),
  listModelKinds: async () => ({}),
  listProviders: async () => ({}),
  getProvider: async () => ({ id: await provider() }),
  setProvider: async () => ({ id: await provider(), body: { ...entry, slots: 7 } }),
  deleteProvider: async () => ({ id: await provider() }),
  resetProviderHealth: async () => ({ id: await provider() }),
  testProvider: async () => ({ id: 'local' }),
  listModelEntries: async () => ({}),
  getModelEntry: async () => ({ id: 'vidB-2' }),
  setModelEntry: async () => ({ id: 'vidB-2', body: { settings: { usual_seconds: 90 } } }),
  deleteModelEntry: async () => ({ id: await modelEntry() }),
  getModelRoutes: async () => ({ id: 'vidB-2' }),
  setModelRoutes: async () => ({ id: 'vidB-2', body: { routes: [{ provider: 'local' }] } }),
  explainModelRoutes: async () => ({ id: 'vidB-2', body: { seconds: 8 } }),
  deleteModelRoutes: async () => ({ id: 'vidB-2' }),
  listTasks: async () => ({}),
  getTask: async () => ({ id: await task() }),
  explainTask: async () => ({ id: await task() }),
  getTaskOrder: async () => ({ id: await task() }),
  getTaskTimeline: async () => ({ id: await task() }),
  getTaskContent: async () => ({ id: await completedTask() }),
  retryTask: async () => ({ id: await failedTask() }),
  cancelTask: async () => ({ id: await task() }),
  resolveTask: async () => ({ id: await task(), body: { action: 'fail' } }),
  getTotalUsage: async () => ({}),
  listAllEvents: async () => ({}),
  listRequests: async () => ({}),
  listRequestErrors: async () => ({}),
  getRequest: async () => ({ id: await loggedRequest() }),
  listAuditEntries: async () => ({}),
  verifyAuditLog: async () => ({}),
  getSettings: async () => ({}),
  updateSettings: async () => ({ body: { queue_length_per_account: 500 } }),
}

const closed = (Object.entries(adminOperations) as [AdminOperationId, Operation][]).filter(
  ([, { access }]) => access === 'operator',
)
const send = ({ path, method, body: takesBody }: Operation, { body, ...named }: Given, text?: string) =>
  ask(`${gateway.url}${fillPath(path, named)}`, text, {
    method,
    ...(takesBody !== undefined && {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body ?? {}),
    }),
  })
const givenFor = (name: string) => {
  const row = rows[name]
  if (row === undefined) throw new Error(`Add ${name} to 'rows': a request to it that succeeds.`)
  return row()
}

test('every admin operation has a row, and no other operation has one', () => {
  expect(Object.keys(rows).toSorted()).toEqual(closed.map(([name]) => name).toSorted())
})

describe('is refused without changes for a customer, and succeeds for an operator', () => {
  test.each(closed)('%s', async (name, operation) => {
    const given = await givenFor(name)
    const before = await wholeRecordOf(gateway)
    for (const { who, text, code } of unsupportedLetters) {
      const answer = await send(operation, given, text)
      expect({ who, status: answer.status }).toEqual({ who, status: code === 'access_denied' ? 403 : 401 })
      expectProblem(answer, code)
    }
    expect(await wholeRecordOf(gateway)).toEqual(before)
    expect((await operator.ask(name, given)).status).toBe(200)
  })
})

describe('each role may call exactly the operations that name it', () => {
  let operators: Record<OperatorRole, Operator>
  beforeAll(async () => {
    const { postgres } = gateway.database
    const withRole = async (role: OperatorRole): Promise<[OperatorRole, Operator]> => [
      role,
      await createOperator(gateway, await createKey(postgres, '', { kind: 'admin', role })),
    ]
    operators = Object.fromEntries(await Promise.all(operatorRoles.map(withRole))) as typeof operators
  })

  test.each(closed)('%s', async (name, operation) => {
    const allowed: readonly string[] = operation.access === 'operator' ? operation.roles : []
    const given = await givenFor(name)
    const before = await wholeRecordOf(gateway)
    for (const role of operatorRoles.filter((each) => !allowed.includes(each))) {
      const answer = await operators[role].ask(name, given)
      expectProblem(answer, 'access_denied')
      const { message } = answer.body['error'] as { message: string }
      expect(message).toContain(`This key has the role ${role}.`)
      for (const each of allowed) expect(message).toContain(each)
    }
    expect(await wholeRecordOf(gateway)).toEqual(before)
    for (const role of operatorRoles.filter((each) => allowed.includes(each))) {
      const { status } = await operators[role].ask(name, await givenFor(name))
      expect({ role, status }).toEqual({ role, status: 200 })
    }
  })
})

describe('fields outside of the contract are neither stored nor returned', () => {
  test.each(closed.filter(([, { body }]) => body !== undefined))('%s', async (name, operation) => {
    const given = await givenFor(name)
    const word = `z${randomBytes(8).toString('hex')}`
    const known = (operation.body?.json ?? []).flatMap((schema) =>
      Object.keys((schema as { properties?: object }).properties ?? {}),
    )
    const strange = (await columnsOf(gateway)).filter((column) => !known.includes(column))
    const planted = Object.fromEntries(strange.map((column) => [column, word]))
    const answer = await operator.ask(name, { ...given, body: { ...planted, ...(given.body as object) } })
    expect(answer.status).toBe(200)
    expect(JSON.stringify(answer.body)).not.toContain(word)
    expect(answer.headers.get('x-ignored-params')).not.toBeNull()
    expect(await tablesWith(gateway, word)).toEqual([])
  })
})
