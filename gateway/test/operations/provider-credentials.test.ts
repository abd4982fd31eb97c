/** A provider key set with the admin API works, survives a restart, and is never shown. */
import { afterAll, beforeAll, expect, test } from 'vitest'

import { startVendor, type Vendor } from '../../../dev/vendor/vendor.ts'
import { createAccount, createKey, type TestKey } from '../kit/factories.ts'
import { createOperator, type Given, type Operator } from '../kit/operator.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'
import { tablesWith } from '../kit/whole-record.ts'

const firstSecret = 'first-secret-for-keys-of-providers'
const secondSecret = 'second-secret-for-keys-of-providers'
const vendorKey = 'sk-vendor-8c1f5e0b7d2a4963'
const model = 'chat-4o-mini-tts-2025-12-15'

let vendor: Vendor
let gateway: TestGateway
let operator: Operator
let customer: TestKey

beforeAll(async () => {
  vendor = await startVendor({ apiKey: vendorKey })
  gateway = await startGateway({ CREDENTIAL_SECRETS: firstSecret })
  operator = await createOperator(gateway)
  const accountId = await createAccount(gateway.database.postgres, { balance: 100_000 })
  customer = await createKey(gateway.database.postgres, accountId)
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await vendor.close()
})

const entry = () => ({ kind: 'openai', base_url: vendor.url })
const speak = async (url: string) => {
  const response = await fetch(`${url}/v1/audio/speech`, {
    method: 'POST',
    headers: { authorization: `Bearer ${customer.text}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, input: 'Hello there', voice: 'alloy' }),
  })
  await response.arrayBuffer()
  return response.status
}
const route = () => operator.call('setModelRoutes', { id: model, body: { routes: [{ provider: 'vendor' }] } })

test('the vendor is called with the key from the next request on', async () => {
  await operator.call('setProvider', { id: 'vendor', body: { ...entry(), api_key: `${vendorKey}-not` } })
  await route()
  const before = vendor.speeches().length
  expect(await speak(gateway.url)).not.toBe(200)
  expect(vendor.speeches().length).toBe(before)
  await operator.call('setProvider', { id: 'vendor', body: { ...entry(), api_key: vendorKey } })
  expect(await speak(gateway.url)).toBe(200)
  expect(vendor.speeches().length).toBe(before + 1)
})

test('a restarted gateway has the key, also with a newer secret in front of the one that sealed it', async () => {
  await using restarted = await startGateway(
    { CREDENTIAL_SECRETS: `${secondSecret},${firstSecret}` },
    gateway,
  )
  expect(await speak(restarted.url)).toBe(200)
  // Setting it again seals it under the newer secret, so the older one can be removed.
  const there = await createOperator(restarted, operator)
  await there.call('setProvider', { id: 'vendor', body: { ...entry(), api_key: vendorKey } })
  await using later = await startGateway({ CREDENTIAL_SECRETS: secondSecret }, gateway)
  expect(await speak(later.url)).toBe(200)
})

test('if no secret opens the key, the provider is disabled with a reason, and the gateway runs', async () => {
  await using other = await startGateway(
    { CREDENTIAL_SECRETS: 'some-other-secret-of-32-characters' },
    gateway,
  )
  const there = await createOperator(other, operator)
  const shown = await there.call('getProvider', { id: 'vendor' })
  expect(shown).toMatchObject({
    enabled: false,
    credential_hint: '…4963',
    problem: expect.stringContaining('CREDENTIAL_SECRETS'),
  })
  expect(await speak(other.url)).not.toBe(200)
})

test('the key is in no response, no table and no request log, in any form', async () => {
  const everything: [Parameters<Operator['ask']>[0], Given][] = [
    ['setProvider', { id: 'vendor', body: { ...entry(), api_key: vendorKey } }],
    ['setProvider', { id: 'vendor', body: { ...entry(), api_key: `${vendorKey} ` } }],
    ['setProvider', { id: 'vendor', body: { ...entry(), slots: 0, api_key: vendorKey } }],
    ['setProvider', { id: 'a b', body: { ...entry(), api_key: vendorKey } }],
    ['setProvider', { id: 'vendor', body: { ...entry(), settings: { api_key: vendorKey } } }],
    ['listProviders', {}],
    ['getProvider', { id: 'vendor' }],
    ['getModelRoutes', { id: model }],
    ['setModelRoutes', { id: model, body: { routes: [{ provider: 'vendor' }] } }],
    ['resetProviderHealth', { id: 'vendor' }],
    ['testProvider', { id: 'vendor' }],
    ['listAuditEntries', { query: { limit: 200 } }],
    ['listRequests', { query: { limit: 200 } }],
    ['getSettings', {}],
    ['listTasks', {}],
    ['deleteModelRoutes', { id: model }],
    ['deleteProvider', { id: 'vendor' }],
  ]
  const answers = []
  for (const [operation, given] of everything) {
    const { body, headers } = await operator.ask(operation, given)
    answers.push(JSON.stringify([body, Object.fromEntries(headers)]))
  }
  // The search would be useless without it.
  expect(answers.filter((answer) => answer.includes('…4963')).length).toBeGreaterThanOrEqual(4)
  expect(answers.filter((answer) => answer.includes(vendorKey))).toEqual([])
  const logged = async () =>
    (await operator.call('listRequests', { query: { operation: 'deleteProvider' } })).data
  await expect.poll(async () => (await logged()).length).toBe(1)
  const bytes = Buffer.from(vendorKey)
  for (const form of [
    vendorKey,
    bytes.toString('hex'),
    bytes.toString('base64'),
    bytes.toString('base64url'),
  ]) {
    expect(await tablesWith(gateway, form)).toEqual([])
  }
  // The search works: it finds the hint as text and the sealed key as bytes.
  expect(await tablesWith(gateway, '…4963')).toEqual(['audit_log', 'provider_configs'])
  const { rows } = await gateway.database.postgres.query<{ seal: string }>(
    "select encode(credential, 'hex') as seal from provider_configs where name = 'vendor'",
  )
  expect(await tablesWith(gateway, rows[0]?.seal ?? '')).toEqual(['provider_configs'])
})
