import { randomUUID } from 'node:crypto'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { hashKey } from '../../src/auth/key-text.ts'
import { Secret } from '../../src/platform/secret.ts'
import { ask, askJson, expectProblem } from '../kit/answers.ts'
import { createAccount, keySecret } from '../kit/factories.ts'
import { createOperator, readAll, type Operator } from '../kit/operator.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'

let gateway: TestGateway
let operator: Operator
let accountId: string

beforeAll(async () => {
  gateway = await startGateway()
  operator = await createOperator(gateway)
  accountId = await createAccount(gateway.database.postgres)
})
afterAll(() => gateway[Symbol.asyncDispose]())

const newKey = (body: object = {}) =>
  operator.call('createKey', { id: accountId, body: { kind: 'payg', ...body } })
const models = (key: string) => ask(`${gateway.url}/v1/models`, key)
const create = (key: string, model = 'vidB-2') =>
  askJson(`${gateway.url}/v1/videos`, key, { model, prompt: 'A whale', seconds: 4, size: '480x480' })
const now = () => Math.floor(Date.now() / 1000)

describe('createKey', () => {
  test('a key that has already expired is rejected, for a customer and for an operator', async () => {
    const body = { kind: 'payg', name: 'late', expires_at: now() - 1 }
    const answer = await operator.ask('createKey', { id: accountId, body })
    expectProblem(answer, 'invalid_parameter', 'expires_at')
    expect(answer.body).toMatchObject({ error: { message: expect.stringContaining('in the future') } })
    const ofOperator = { name: 'late', role: 'finance', expires_at: now() - 1 }
    expectProblem(
      await operator.ask('createOperatorKey', { body: ofOperator }),
      'invalid_parameter',
      'expires_at',
    )
    const { data } = await operator.call('listKeys', { query: { account_id: accountId } })
    expect(JSON.stringify(data)).not.toContain('late')
  })

  test('returns the secret once and does not store it', async () => {
    const { key, secret } = await newKey({ name: 'robot' })
    expect(secret).toMatch(/^sk-[0-9A-Za-z]{36}$/)
    expect((await models(secret)).status).toBe(200)
    expect(key).toMatchObject({
      object: 'key',
      account_id: accountId,
      kind: 'payg',
      hint: `…${secret.slice(-4)}`,
      name: 'robot',
      models: null,
      addresses: null,
      expires_at: null,
      disabled: false,
      quota_micros: null,
      budgets: [],
      budget_usage: [],
      scopes: ['create', 'read'],
      used_micros: 0,
      dialect: 'reference',
    })
    const hash = hashKey(secret, new Secret(keySecret))
    const shown = [
      await operator.call('getKey', { id: key.id }),
      await operator.call('listKeys', { query: { account_id: accountId } }),
      await operator.call('listAuditEntries'),
      (await gateway.database.postgres.query('select * from audit_log')).rows,
    ]
    for (const answer of shown.map((each) => JSON.stringify(each))) {
      expect(answer).not.toContain(secret.slice(0, -4))
      for (const encoding of ['hex', 'base64', 'base64url'] as const)
        expect(answer).not.toContain(hash.toString(encoding))
    }
  })

  test('accepts every setting and applies it', async () => {
    const { key, secret } = await newKey({
      scopes: ['create'],
      models: ['vidB-2'],
      addresses: ['127.0.0.0/8', '::1'],
      expires_at: now() + 3_600,
      quota_micros: 900_000_000,
      budgets: [
        { period: 'day', limit_micros: 800_000_000 },
        { period: 'hour', limit_micros: 700_000_000 },
      ],
      requests_per_minute: 50,
      limits: { create: 40, read: 45 },
      concurrency: 2,
      dialect: 'openai',
    })
    expect(key.budgets).toEqual([
      { period: 'hour', limit_micros: 700_000_000, currency: 'USD' },
      { period: 'day', limit_micros: 800_000_000, currency: 'USD' },
    ])
    const created = await create(secret)
    expect(created.status).toBe(200)
    expect(created.headers.get('x-ratelimit-limit')).toBe('40')
    expectProblem(await create(secret, 'vidB-2-pro'), 'model_access_denied', 'model')
    expectProblem(await models(secret), 'insufficient_scope')
    const used = await operator.call('getKey', { id: key.id })
    expect(used.used_micros).toBeGreaterThan(0)
    expect(used.budget_usage).toMatchObject([
      { period: 'hour', used_micros: used.used_micros, currency: 'USD' },
      { period: 'day', used_micros: used.used_micros, currency: 'USD' },
    ])
    expect(used.budget_usage[0]?.resets_at).toBeGreaterThan(now())
  })

  test('rejects invalid settings', async () => {
    const refusal = (body: object) =>
      operator.ask('createKey', { id: accountId, body: { kind: 'payg', ...body } })
    expectProblem(await refusal({ kind: 'admin' }), 'invalid_parameter', 'kind')
    expectProblem(await refusal({ kind: null }), 'missing_parameter', 'kind')
    expectProblem(await refusal({ scopes: [] }), 'invalid_parameter', 'scopes')
    expectProblem(await refusal({ scopes: ['write'] }), 'invalid_parameter', 'scopes[0]')
    expectProblem(await refusal({ models: ['vidB-2', 'vidZ'] }), 'invalid_parameter', 'models[1]')
    expectProblem(await refusal({ models: 'vidB-2' }), 'invalid_parameter', 'models')
    expectProblem(await refusal({ addresses: ['10.0.0.0/8', 'home'] }), 'invalid_parameter', 'addresses[1]')
    expectProblem(await refusal({ addresses: ['10.0.0.0/99'] }), 'invalid_parameter', 'addresses[0]')
    expectProblem(await refusal({ limits: { creates: 5 } }), 'invalid_parameter', 'limits.creates')
    expectProblem(await refusal({ limits: { create: 0 } }), 'invalid_parameter', 'limits.create')
    expectProblem(
      await refusal({ budgets: [{ period: 'year' }] }),
      'missing_parameter',
      'budgets[0].limit_micros',
    )
    expectProblem(
      await refusal({ budgets: [{ period: 'year', limit_micros: 1 }] }),
      'invalid_parameter',
      'budgets[0].period',
    )
    const twice = [1, 2].map((limit_micros) => ({ period: 'day', limit_micros }))
    expectProblem(await refusal({ budgets: twice }), 'invalid_parameter', 'budgets')
    expectProblem(
      await operator.ask('createKey', { id: randomUUID(), body: { kind: 'payg' } }),
      'resource_not_found',
    )
  })
})

describe('listKeys', () => {
  test('pages through the keys of an account, newest first, while others are added', async () => {
    const id = await createAccount(gateway.database.postgres)
    const add = (kind = 'payg') => operator.call('createKey', { id, body: { kind } })
    const ids: string[] = []
    for (let index = 0; index < 5; index += 1) ids.push((await add()).key.id)
    const found = await readAll(operator, 'listKeys', { query: { account_id: id }, between: add })
    expect(found.map((key) => key.id)).toEqual(ids.toReversed())
    const subscription = await add('subscription')
    const ofKind = await operator.call('listKeys', { query: { account_id: id, kind: 'subscription' } })
    expect(ofKind.data.map((key: { id: string }) => key.id)).toEqual([subscription.key.id])
  })

  test('includes operator keys and no deleted keys', async () => {
    const { key } = await operator.call('createOperatorKey', { body: { name: 'day shift', role: 'admin' } })
    const names = async () =>
      (await readAll(operator, 'listKeys', { query: { kind: 'admin' } })).map(({ name }) => name)
    expect(await names()).toContain('day shift')
    await operator.call('deleteKey', { id: key.id })
    expect(await names()).not.toContain('day shift')
  })

  test('rejects an invalid filter', async () => {
    expectProblem(
      await operator.ask('listKeys', { query: { account_id: 'x' } }),
      'invalid_parameter',
      'account_id',
    )
    expectProblem(await operator.ask('listKeys', { query: { kind: 'x' } }), 'invalid_parameter', 'kind')
    expectProblem(await operator.ask('listKeys', { query: { cursor: 'x' } }), 'invalid_parameter', 'cursor')
  })
})

describe('updateKey', () => {
  const update = (id: string, body: object) => operator.call('updateKey', { id, body })

  test("takes effect on the customer's next request", async () => {
    const { key, secret } = await newKey()
    expect((await create(secret)).status).toBe(200)
    await update(key.id, { disabled: true })
    expectProblem(await create(secret), 'access_denied')
    await update(key.id, { disabled: false, models: ['vidA_3_1'] })
    expectProblem(await create(secret), 'model_access_denied', 'model')
    await update(key.id, { models: null, addresses: ['192.0.2.1'] })
    expectProblem(await create(secret), 'ip_not_allowed')
    await update(key.id, { addresses: null, expires_at: now() - 1 })
    expectProblem(await create(secret), 'expired_api_key')
    await update(key.id, { expires_at: null, quota_micros: 0 })
    expectProblem(await create(secret), 'quota_exceeded')
    await update(key.id, { quota_micros: null, budgets: [{ period: 'day', limit_micros: 0 }] })
    expectProblem(await create(secret), 'quota_exceeded')
    await update(key.id, { budgets: [], limits: { create: 77 } })
    expect((await create(secret)).headers.get('x-ratelimit-limit')).toBe('77')
    await update(key.id, { limits: {}, requests_per_minute: 3 })
    expect((await create(secret)).headers.get('x-ratelimit-limit')).toBe('3')
  })

  test('leaves other values and the used amount of a quota unchanged', async () => {
    const { key, secret } = await newKey({ quota_micros: 900_000_000, concurrency: 4 })
    await create(secret)
    const { used_micros: used } = await operator.call('getKey', { id: key.id })
    const changed = await update(key.id, { quota_micros: 800_000_000, name: 'renamed' })
    expect(changed).toMatchObject({
      name: 'renamed',
      quota_micros: 800_000_000,
      used_micros: used,
      concurrency: 4,
    })
  })

  test('a quota set on a key with open tasks does not break them', async () => {
    const { key, secret } = await newKey()
    const { body } = await create(secret)
    await update(key.id, { quota_micros: 900_000_000 })
    const cancelled = await ask(`${gateway.url}/v1/videos/${String(body['id'])}/cancel`, secret, {
      method: 'POST',
    })
    expect(cancelled.status).toBe(200)
    expect((await operator.call('getKey', { id: key.id })).used_micros).toBe(0)
    expect((await operator.call('runLedgerAudit')).is_sound).toBe(true)
  })

  test('404 for an unknown or deleted key', async () => {
    const { key } = await newKey()
    await operator.call('deleteKey', { id: key.id })
    for (const id of [key.id, randomUUID(), 'nonsense']) {
      for (const operation of ['getKey', 'updateKey', 'deleteKey', 'rotateKey'] as const)
        expectProblem(await operator.ask(operation, { id }), 'resource_not_found')
    }
  })
})

describe('deleteKey', () => {
  test('a deleted key is refused at once', async () => {
    const { key, secret } = await newKey()
    expect((await models(secret)).status).toBe(200)
    expect(await operator.call('deleteKey', { id: key.id })).toEqual({ id: key.id, deleted: true })
    expectProblem(await models(secret), 'invalid_api_key')
  })
})

/** As if the time had passed. */
const endOverlap = (id: string) =>
  gateway.database.postgres.query(
    `update keys set previous_expires_at = now() - interval '1 second' where id = $1`,
    [id],
  )

describe('rotateKey', () => {
  test('returns a new secret and refuses the old one at once', async () => {
    const { key, secret } = await newKey({ name: 'robot', limits: { read: 50 } })
    expect((await models(secret)).status).toBe(200)
    const rotated = await operator.call('rotateKey', { id: key.id })
    expect(rotated.secret).not.toBe(secret)
    expect(rotated.key).toEqual({ ...key, hint: `…${rotated.secret.slice(-4)}` })
    expectProblem(await models(secret), 'invalid_api_key')
    const answer = await models(rotated.secret)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-ratelimit-limit')).toBe('50')
  })

  test('accepts the old secret with the same settings until the end of the overlap', async () => {
    const { key, secret } = await newKey({ name: 'robot', models: ['vidB-2'], quota_micros: 900_000_000 })
    const rotated = await operator.call('rotateKey', { id: key.id, body: { overlap_seconds: 600 } })
    for (const each of [secret, rotated.secret]) {
      expect((await create(each)).status).toBe(200)
      expectProblem(await create(each, 'vidB-2-pro'), 'model_access_denied', 'model')
    }
    // Both secrets are of one key, with one quota.
    const used = (await operator.call('getKey', { id: key.id })).used_micros
    await create(secret)
    expect((await operator.call('getKey', { id: key.id })).used_micros).toBe((used / 2) * 3)
    const endsAt = rotated.key.previous_secret_expires_at
    expect(endsAt - now()).toBeGreaterThan(500)
    expect(endsAt - now()).toBeLessThanOrEqual(600)
    await endOverlap(key.id)
    await expect.poll(async () => (await create(secret)).status).toBe(401)
    expectProblem(await create(secret), 'invalid_api_key')
    expect((await create(rotated.secret)).status).toBe(200)
    expect(await operator.call('getKey', { id: key.id })).toMatchObject({ previous_secret_expires_at: null })
  })

  test('ends the overlap of an earlier rotation, at once', async () => {
    const { key, secret } = await newKey()
    const body = { overlap_seconds: 600 }
    const second = await operator.call('rotateKey', { id: key.id, body })
    expect((await models(secret)).status).toBe(200)
    const third = await operator.call('rotateKey', { id: key.id, body })
    expectProblem(await models(secret), 'invalid_api_key')
    for (const each of [second, third]) expect((await models(each.secret)).status).toBe(200)
    await operator.call('deleteKey', { id: key.id })
    for (const each of [second, third]) expectProblem(await models(each.secret), 'invalid_api_key')
  })

  test("an operator's old secret is refused after the overlap", async () => {
    const { key, secret } = await operator.call('createOperatorKey', {
      body: { name: 'second', role: 'admin' },
    })
    await operator.call('rotateKey', { id: key.id, body: { overlap_seconds: 600 } })
    const list = () => ask(`${gateway.url}/admin/v1/plans`, secret)
    expect((await list()).status).toBe(200)
    await endOverlap(key.id)
    await expect.poll(async () => (await list()).status).toBe(401)
    expectProblem(await list(), 'invalid_api_key')
  })

  test('the overlap ends no later than the key', async () => {
    const expiresAt = now() + 60
    const { key, secret } = await newKey({ expires_at: expiresAt })
    await operator.call('rotateKey', { id: key.id, body: { overlap_seconds: 3_600 } })
    expect((await models(secret)).status).toBe(200)
    expect(await operator.call('getKey', { id: key.id })).toMatchObject({
      previous_secret_expires_at: expiresAt,
    })
    const refused = await operator.ask('rotateKey', { id: key.id, body: { overlap_seconds: -1 } })
    expectProblem(refused, 'invalid_parameter', 'overlap_seconds')
  })

  test('an operator key can be rotated', async () => {
    const { key, secret } = await operator.call('createOperatorKey', {
      body: { name: 'temp', role: 'admin' },
    })
    const rotated = await operator.call('rotateKey', { id: key.id })
    const list = (text: string) => ask(`${gateway.url}/admin/v1/plans`, text)
    expectProblem(await list(secret), 'invalid_api_key')
    expect((await list(rotated.secret)).status).toBe(200)
  })
})

describe('an operator key', () => {
  test('can use the admin API and cannot create media', async () => {
    const { key, secret } = await operator.call('createOperatorKey', {
      body: { name: 'second', role: 'admin' },
    })
    expect(secret).toMatch(/^sk-admin-/)
    expect(key).toMatchObject({ kind: 'admin', account_id: null, name: 'second' })
    expect((await ask(`${gateway.url}/admin/v1/accounts`, secret)).status).toBe(200)
    expectProblem(await create(secret), 'access_denied')
    expectProblem(await operator.ask('createOperatorKey'), 'missing_parameter', 'name')
    const refusal = (body: object) => operator.ask('createOperatorKey', { body: { name: 'x', ...body } })
    expectProblem(await refusal({}), 'missing_parameter', 'role')
    expectProblem(await refusal({ role: 'owner' }), 'invalid_parameter', 'role')
  })

  test('expires after 90 days unless its creator sets another time or none', async () => {
    const created = async (body: object) =>
      (await operator.call('createOperatorKey', { body: { name: 'x', role: 'read', ...body } })).key
    const before = now()
    const { expires_at: expiresAt } = await created({})
    expect(expiresAt).toBeGreaterThanOrEqual(before + 90 * 86_400)
    expect(expiresAt).toBeLessThanOrEqual(now() + 90 * 86_400)
    expect(await created({ expires_at: before + 60 })).toMatchObject({ expires_at: before + 60 })
    expect(await created({ expires_at: null })).toMatchObject({ expires_at: null })
  })

  test('has a role, which applies at once when it is changed; a key of an account has none', async () => {
    const { key, secret } = await operator.call('createOperatorKey', { body: { name: 'x', role: 'read' } })
    expect(key).toMatchObject({ role: 'read' })
    const changed = await createOperator(gateway, { id: key.id, text: secret })
    const plan = () => ({ body: { name: randomUUID(), cycle_quota_micros: 5, cycle_days: 30 } })
    expectProblem(await changed.ask('createPlan', plan()), 'access_denied')
    expect(await operator.call('updateKey', { id: key.id, body: { role: 'finance' } })).toMatchObject({
      role: 'finance',
    })
    expect((await changed.ask('createPlan', plan())).status).toBe(200)

    const ofAccount = await newKey({})
    expect(ofAccount.key).toMatchObject({ role: null })
    const refused = await operator.ask('updateKey', { id: ofAccount.key.id, body: { role: 'admin' } })
    expectProblem(refused, 'invalid_parameter', 'role')
  })

  test('can be changed, rotated and deleted by the role admin only, also by itself', async () => {
    const create = async (role: string) => {
      const { key, secret } = await operator.call('createOperatorKey', { body: { name: 'x', role } })
      return createOperator(gateway, { id: key.id, text: secret })
    }
    const support = await create('support')
    for (const id of [support.id, (await create('read')).id, operator.id]) {
      expectProblem(await support.ask('updateKey', { id, body: { role: 'admin' } }), 'access_denied')
      expectProblem(await support.ask('updateKey', { id, body: { expires_at: null } }), 'access_denied')
      expectProblem(await support.ask('rotateKey', { id }), 'access_denied')
      expectProblem(await support.ask('deleteKey', { id }), 'access_denied')
    }
    const { key } = await newKey({})
    expect((await support.ask('rotateKey', { id: key.id })).status).toBe(200)
  })

  test('can be limited to addresses and has no spending settings', async () => {
    const { key, secret } = await operator.call('createOperatorKey', {
      body: { name: 'far away', role: 'admin' },
    })
    const update = (body: object) => operator.ask('updateKey', { id: key.id, body })
    expectProblem(await update({ quota_micros: 5 }), 'invalid_parameter', 'quota_micros')
    expectProblem(await update({ models: ['vidB-2'] }), 'invalid_parameter', 'models')
    expect((await update({ addresses: ['192.0.2.1'] })).status).toBe(200)
    expectProblem(await ask(`${gateway.url}/admin/v1/accounts`, secret), 'ip_not_allowed')
  })

  test('the last working one with the role admin cannot be deleted, disabled, downgraded or set to expire', async () => {
    await using alone = await startGateway()
    const last = await createOperator(alone)
    const expectStays = async () => {
      expectProblem(await last.ask('deleteKey', { id: last.id }), 'conflict')
      expectProblem(await last.ask('updateKey', { id: last.id, body: { disabled: true } }), 'conflict')
      expectProblem(await last.ask('updateKey', { id: last.id, body: { expires_at: 1 } }), 'conflict')
      expectProblem(await last.ask('updateKey', { id: last.id, body: { role: 'finance' } }), 'conflict')
      expect((await last.ask('listKeys')).status).toBe(200)
    }
    await expectStays()
    // Neither of these is another working key with the role admin.
    await last.call('createOperatorKey', { body: { name: 'finance', role: 'finance' } })
    const expired = await last.call('createOperatorKey', { body: { name: 'expired', role: 'admin' } })
    await last.call('updateKey', { id: expired.key.id, body: { expires_at: 1 } })
    const rotated = await last.call('rotateKey', { id: last.id, body: { overlap_seconds: 3_600 } })
    expect(rotated.key).toMatchObject({ id: last.id, role: 'admin' })
    await expectStays()
    const { key, secret } = await last.call('createOperatorKey', { body: { name: 'asleep', role: 'admin' } })
    await last.call('updateKey', { id: key.id, body: { disabled: true } })
    await expectStays()
    await last.call('updateKey', { id: key.id, body: { disabled: false } })
    const second = await createOperator(alone, { id: key.id, text: secret })
    const answers = await Promise.all([
      last.ask('deleteKey', { id: last.id }),
      second.ask('deleteKey', { id: second.id }),
    ])
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 409]))
  })
})
