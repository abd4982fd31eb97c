/** Metrics that are read when they are collected: money, secrets, and providers as this process knows them. */
import { afterAll, beforeAll, expect, test } from 'vitest'

import { createLog } from '../../src/platform/log.ts'
import { readGauge, type GaugeName } from '../../src/platform/metrics/metrics.ts'
import { observeDatabase, type DatabaseReadings } from '../../src/readings/observe-database.ts'
import { askJson } from '../kit/answers.ts'
import { createAccount, createKey, type TestKey } from '../kit/factories.ts'
import { brokenInvariants } from '../kit/ledger.ts'
import { createOperator, type Operator } from '../kit/operator.ts'
import { startVendorGateway, type VendorGateway } from '../kit/vendor-gateway.ts'

const speechModel = 'chat-4o-mini-tts-2025-12-15'
const daySeconds = 86_400

let gateway: VendorGateway
let operator: Operator
let key: TestKey
let readings: DatabaseReadings

beforeAll(async () => {
  const environment = { CREDENTIAL_SECRETS: 'a-secret-for-the-keys-of-providers' }
  gateway = await startVendorGateway(environment, {}, { apiKey: 'sk-revoked' })
  const { postgres } = gateway.database
  operator = await createOperator(gateway)
  key = await createKey(postgres, await createAccount(postgres, { balance: 100 }))
  readings = observeDatabase({ postgres, log: createLog({ level: 'silent' }, 'test') }, () => ['vendor'])
})
afterAll(async () => {
  readings.stop()
  await gateway[Symbol.asyncDispose]()
})

const query = (text: string) => gateway.database.postgres.query(text)
const valuesOf = (name: GaugeName) =>
  Object.fromEntries(
    readGauge(name).map(({ value, attributes }) => [Object.values(attributes).join(' '), value]),
  )

test('money that is held, and its oldest hold, are those of the open tasks', async () => {
  await readings.read()
  expect(valuesOf('kinora.money.held')).toEqual({ payg: 0, subscription: 0 })
  expect(valuesOf('kinora.money.available')).toEqual({ payg: 100, subscription: 0 })
  expect(valuesOf('kinora.money.oldest_hold')).toEqual({ video: 0, transcription: 0, request: 0 })
  const order = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480' }
  expect((await askJson(`${gateway.url}/v1/videos`, key.text, order)).status).toBe(200)
  await query(`update open_tasks set accepted_at = accepted_at - interval '1 day'`)
  await readings.read()
  const { payg: held = 0 } = valuesOf('kinora.money.held')
  expect(held).toBeGreaterThan(0)
  expect(valuesOf('kinora.money.available')['payg']).toBeCloseTo(100 - held, 6)
  expect(valuesOf('kinora.money.oldest_hold')['video']).toBeGreaterThanOrEqual(daySeconds)
  expect(valuesOf('kinora.tasks.queued')).toMatchObject({ 'video vendor': 1 })
  expect(valuesOf('kinora.tasks.oldest_wait')['video vendor']).toBeGreaterThanOrEqual(daySeconds)
})

test('the ledger has no difference and no violations until someone changes it', async () => {
  const { postgres } = gateway.database
  const audited = async () => {
    const broken = await brokenInvariants(postgres)
    await readings.read()
    const violations = valuesOf('kinora.ledger.violations')
    return {
      broken: broken.length,
      invariants: Object.keys(violations).length,
      violations: Object.values(violations).reduce((sum, value) => sum + value, 0),
      difference: valuesOf('kinora.ledger.difference')[''],
    }
  }
  const sound = await audited()
  expect(sound).toMatchObject({ broken: 0, violations: 0, difference: 0 })
  expect(sound.invariants).toBeGreaterThan(5)
  await query('update balances set held_micros = held_micros + 2500000')
  const changed = await audited()
  expect(changed.difference).toBe(2.5)
  expect(changed.violations).toBeGreaterThan(0)
  expect(changed.invariants).toBe(sound.invariants)
  await query('update balances set held_micros = held_micros - 2500000')
  expect(await audited()).toEqual(sound)
  const { recent = Infinity, full = Infinity } = valuesOf('kinora.ledger.audit.age')
  expect(Math.max(recent, full)).toBeLessThan(daySeconds)
})

const days = async (secret: string) => {
  await readings.read()
  const seconds = valuesOf('kinora.secret.age')[secret]
  return seconds === undefined ? undefined : Math.floor(seconds / daySeconds)
}

test('the age of secrets is that of the oldest in use, since it was last changed', async () => {
  expect([await days('operator_key'), await days('provider_credentials')]).toEqual([0, undefined])
  await query(`update keys set created_at = now() - interval '400 days' where kind = 'admin'`)
  expect(await days('operator_key')).toBe(400)
  // The other key of an operator is newer.
  const { key: other, secret } = await operator.call('createOperatorKey', {
    body: { name: 'day shift', role: 'admin' },
  })
  expect(await days('operator_key')).toBe(400)
  const second = await createOperator(gateway, { id: other.id, text: secret })
  await second.call('rotateKey', { id: operator.id, body: { overlap_seconds: 600 } })
  expect(await days('operator_key')).toBe(0)

  const set = (body: object) =>
    second.call('setProvider', {
      id: 'acme',
      body: { kind: 'openai', base_url: 'https://acme.example/v1', ...body },
    })
  await set({ api_key: 'sk-acme-0001' })
  expect(await days('provider_credentials')).toBe(0)
  await query('alter table audit_log disable trigger audit_log_is_append_only')
  await query(`update audit_log set at = at - interval '500 days' where target = 'acme'`)
  expect(await days('provider_credentials')).toBe(500)
  // Another change keeps the key.
  await set({ slots: 3 })
  expect(await days('provider_credentials')).toBe(500)
  await set({ api_key: 'sk-acme-0002' })
  expect(await days('provider_credentials')).toBe(0)
  await second.call('deleteProvider', { id: 'acme' })
  expect(await days('provider_credentials')).toBeUndefined()
})

test('a provider that refuses our key opens its breaker', async () => {
  const route = `${speechModel} vendor`
  expect(valuesOf('kinora.provider.unauthorized')).toEqual({ vendor: 0 })
  expect(valuesOf('kinora.route.breaker.state')[route]).toBe(0)
  const speech = { model: speechModel, input: 'Hello there.', voice: 'alloy' }
  expect((await askJson(`${gateway.url}/v1/audio/speech`, key.text, speech)).status).toBeGreaterThanOrEqual(
    500,
  )
  expect(valuesOf('kinora.provider.unauthorized')).toEqual({ vendor: 1 })
  expect(valuesOf('kinora.route.breaker.state')[route]).toBe(2)
})
