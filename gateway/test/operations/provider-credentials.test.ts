/** A provider's key that was set over the operators' API works, outlives the process, and is shown to nobody. */
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

test('the vendor is asked with it, from the next request on', async () => {
  await operator.call('setProvider', { id: 'vendor', body: { ...entry(), api_key: `${vendorKey}-not` } })
  await route()
  const before = vendor.speeches().length
  expect(await speak(gateway.url)).not.toBe(200)
  expect(vendor.speeches().length).toBe(before)
  await operator.call('setProvider', { id: 'vendor', body: { ...entry(), api_key: vendorKey } })
  expect(await speak(gateway.url)).toBe(200)
  expect(vendor.speeches().length).toBe(before + 1)
})

test('a gateway that starts anew has it, also with a newer secret before the one it was sealed under', async () => {
  await using restarted = await startGateway(
    { CREDENTIAL_SECRETS: `${secondSecret},${firstSecret}` },
    gateway,
  )
  expect(await speak(restarted.url)).toBe(200)
  // Set again it is sealed under the newer one, and the older one can go.
  const there = await createOperator(restarted, operator)
  await there.call('setProvider', { id: 'vendor', body: { ...entry(), api_key: vendorKey } })
  await using later = await startGateway({ CREDENTIAL_SECRETS: secondSecret }, gateway)
  expect(await speak(later.url)).toBe(200)
})

test('where no secret opens it, the provider gets nothing and says why, and the gateway runs', async () => {
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

test('it is in no answer, no table and no log of requests, in whatever form', async () => {
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
  // Without it no answer would be worth searching.
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
  // What is there is found: the hint as text, and the seal as bytes.
  expect(await tablesWith(gateway, '…4963')).toEqual(['audit_log', 'provider_configs'])
  const { rows } = await gateway.database.postgres.query<{ seal: string }>(
    "select encode(credential, 'hex') as seal from provider_configs where name = 'vendor'",
  )
  expect(await tablesWith(gateway, rows[0]?.seal ?? '')).toEqual(['provider_configs'])
})
