import type { KeyScope } from '@kinora/contract/key-scope'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import type { NewKey } from '../../src/auth/key-store.ts'
import { ask, askJson, expectProblem, type Answer } from '../kit/answers.ts'
import { createAccount, createKey, type TestKey } from '../kit/factories.ts'
import { createOperator, type Operator } from '../kit/operator.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'

let gateway: TestGateway
let operator: Operator
let accountId: string
let manager: TestKey
/** With limits above the instance's. */
let strongest: TestKey

const everything: KeyScope[] = ['create', 'read', 'account']
const now = () => Math.floor(Date.now() / 1000)

beforeAll(async () => {
  gateway = await startGateway()
  operator = await createOperator(gateway)
  accountId = await createAccount(gateway.database.postgres)
  manager = await newManager()
  strongest = await newManager({ limits: { create: 1_000_000, chat: 1_000_000 } })
})
afterAll(() => gateway[Symbol.asyncDispose]())

const newManager = (traits: Partial<NewKey> = {}) =>
  createKey(gateway.database.postgres, accountId, { scopes: everything, limits: {}, ...traits })

const url = (id?: string, action = '') => `${gateway.url}/v1/keys${id === undefined ? '' : `/${id}`}${action}`
const create = (by: TestKey | string, body: object = {}) =>
  askJson(url(), typeof by === 'string' ? by : by.text, body)
const update = (by: TestKey, id: string, body: object) =>
  ask(url(id), by.text, {
    method: 'PATCH',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
const rotate = (by: TestKey, id: string, body: object = {}) => askJson(url(id, '/rotate'), by.text, body)
const models = (text: string) => ask(`${gateway.url}/v1/models`, text)

const created = (answer: Answer): TestKey & { key: Record<string, unknown> } => {
  expect({ status: answer.status, body: answer.status === 200 ? '' : answer.body }).toEqual({
    status: 200,
    body: '',
  })
  const { key, secret } = answer.body as { key: Record<string, unknown>; secret: string }
  return { key, id: String(key['id']), text: secret }
}

test('a key is created with a secret that is shown once, listed, changed and deleted', async () => {
  const made = created(await create(manager, { name: 'of a colleague', models: ['vidB-2'] }))
  expect(made.key).toMatchObject({ name: 'of a colleague', models: ['vidB-2'], scopes: ['create', 'read'] })
  expect(made.key).not.toHaveProperty('account_id')
  expect((await models(made.text)).status).toBe(200)
  expectProblem(await create(made), 'insufficient_scope')

  const shown = (await ask(url(made.id), manager.text)).body
  expect(shown).toEqual({ ...made.key, last_used_at: shown['last_used_at'] })
  const { body: list } = await ask(`${url()}?limit=1`, manager.text)
  expect(list).toMatchObject({ data: [{ id: made.id }], next: expect.any(String) })
  const { body: rest } = await ask(`${url()}?cursor=${String(list['next'])}`, manager.text)
  expect(JSON.stringify(rest)).toContain(manager.id)
  expect(JSON.stringify([list, rest])).not.toContain(made.text.slice(0, -4))

  expect((await update(manager, made.id, { disabled: true, name: 'paused' })).body).toMatchObject({
    ...{ disabled: true, name: 'paused', models: ['vidB-2'] },
  })
  expectProblem(await models(made.text), 'access_denied')
  const deleted = await ask(url(made.id), manager.text, { method: 'DELETE' })
  expect(deleted.body).toEqual({ id: made.id, deleted: true })
  expectProblem(await models(made.text), 'invalid_api_key')
  expectProblem(await ask(url(made.id), manager.text), 'resource_not_found')
})

test('after a rotation the previous secret remains valid for the overlap, as the same key', async () => {
  const made = created(await create(manager, { quota_micros: 900_000_000 }))
  const rotated = created(await rotate(manager, made.id, { overlap_seconds: 3_600 }))
  expect(rotated.id).toBe(made.id)
  for (const { text } of [made, rotated]) {
    expect((await ask(`${gateway.url}/v1/me`, text)).body).toMatchObject({ key: { id: made.id } })
  }
  expectProblem(
    await rotate(manager, made.id, { overlap_seconds: 2_592_001 }),
    'invalid_parameter',
    'overlap_seconds',
  )
  const third = created(await rotate(manager, made.id))
  for (const { text } of [made, rotated]) expectProblem(await models(text), 'invalid_api_key')
  expect((await models(third.text)).status).toBe(200)
  // A key may rotate itself.
  const itself = await newManager()
  expect((await models(created(await rotate(itself, itself.id)).text)).status).toBe(200)
  expectProblem(await models(itself.text), 'invalid_api_key')
})

describe('no key gets a right that the calling key does not have', () => {
  // What the calling key has, what is asked for, and what remains within.
  const expiresAt = now() + 3_600
  const cases: [param: string, own: Partial<NewKey>, beyond: object[], within: object[]][] = [
    [
      'scopes',
      { scopes: ['read', 'account'] },
      [{ scopes: ['create'] }, { scopes: everything }],
      [{ scopes: ['read', 'account'] }],
    ],
    [
      'models',
      { models: ['vidB-2'] },
      [{ models: null }, { models: ['vidB-2', 'vidB-2-pro'] }],
      [{ models: ['vidB-2'] }, { models: [] }],
    ],
    [
      'addresses',
      { addresses: ['127.0.0.0/8', '::1', '2001:db8::/32'] },
      [
        { addresses: null },
        { addresses: ['126.0.0.0/7'] },
        { addresses: ['0.0.0.0/0'] },
        { addresses: ['::/0'] },
        { addresses: ['192.0.2.1'] },
      ],
      [
        { addresses: ['127.0.0.1', '127.1.0.0/16'] },
        { addresses: ['2001:db8:1::/48', '::1'] },
        { addresses: ['::ffff:127.0.0.1'] },
      ],
    ],
    [
      'expires_at',
      { expiresAt: new Date(expiresAt * 1000) },
      [{ expires_at: null }, { expires_at: expiresAt + 1 }],
      [{ expires_at: expiresAt - 60 }],
    ],
    [
      'requests_per_minute',
      { requestsPerMinute: 500 },
      [{ requests_per_minute: null }, { requests_per_minute: 501 }],
      [{ requests_per_minute: 10 }],
    ],
    [
      'limits.create',
      { limits: { create: 7 } },
      [{ limits: {} }, { limits: { create: 8 } }],
      [{ limits: { create: 7, read: 1 } }],
    ],
    // Without a limit of its own, the calling key has the instance's.
    [
      'limits.chat',
      { limits: { create: 100_000 } },
      [{ limits: { create: 100_000, chat: 1_000_000 } }],
      [{ limits: { chat: 5 } }],
    ],
  ]

  test.each(cases)('%s', async (param, own, beyond, within) => {
    const caller = await newManager(own)
    for (const body of beyond) {
      const answer = await create(caller, body)
      expectProblem(answer, 'invalid_parameter', param)
      expect(JSON.stringify(answer.body)).toContain('more rights than its own')
    }
    const made = created(await create(caller))
    for (const body of beyond) expectProblem(await update(caller, made.id, body), 'invalid_parameter', param)
    expect((await ask(url(made.id), caller.text)).body).toEqual(made.key)
    for (const body of within) {
      created(await create(caller, body))
      expect((await update(caller, made.id, body)).status).toBe(200)
    }
    // A key with more rights can be deleted, but neither taken over nor given a new secret.
    const stronger = created(await create(strongest, { ...beyond[0], name: 'stronger' }))
    expectProblem(await rotate(caller, stronger.id), 'invalid_parameter', param)
    expectProblem(await update(caller, stronger.id, { name: 'mine' }), 'invalid_parameter', param)
    expect((await ask(url(stronger.id), caller.text, { method: 'DELETE' })).status).toBe(200)
  })

  test('a key that pays from the other wallet', async () => {
    const subscriber = await newManager({ kind: 'subscription' })
    expectProblem(await rotate(manager, subscriber.id), 'invalid_parameter', 'kind')
    expect(created(await create(subscriber)).key).toMatchObject({ kind: 'subscription' })
  })

  test('a key with a spending limit manages no other key, and can only lower its own limit', async () => {
    const limited = await newManager({ quotaMicros: 5_000_000 })
    const other = created(await create(manager))
    for (const answer of [
      await create(limited, { quota_micros: 1 }),
      await rotate(limited, other.id),
      await update(limited, other.id, { quota_micros: 1 }),
      await update(limited, limited.id, { quota_micros: null }),
      await update(limited, limited.id, { quota_micros: 5_000_001 }),
    ])
      expectProblem(answer, 'invalid_parameter', 'quota_micros')
    const budgets = [{ period: 'day', limit_micros: 10 }]
    expect((await update(limited, limited.id, { quota_micros: 4_000_000, budgets })).status).toBe(200)
    for (const raised of [[], [{ period: 'day', limit_micros: 11 }], [{ period: 'hour', limit_micros: 1 }]])
      expectProblem(await update(limited, limited.id, { budgets: raised }), 'invalid_parameter', 'budgets')
    expect(
      (await update(limited, limited.id, { budgets: [{ period: 'day', limit_micros: 9 }] })).status,
    ).toBe(200)
    const rotated = created(await rotate(limited, limited.id, { overlap_seconds: 600 }))
    expect(rotated.key).toMatchObject({ quota_micros: 4_000_000 })
  })

  test('a right that an operator has just withdrawn', async () => {
    const caller = await newManager()
    const { text } = caller
    await operator.call('updateKey', { id: caller.id, body: { scopes: ['read'] } })
    expectProblem(await create(text), 'insufficient_scope')
    expectProblem(await update(caller, caller.id, { scopes: everything }), 'insufficient_scope')
  })
})

test('an account has at most 100 keys, also if many are created at once', async () => {
  const owner = await createAccount(gateway.database.postgres)
  const { text } = await createKey(gateway.database.postgres, owner, {
    scopes: everything,
    limits: { create: 100_000 },
  })
  const answers = await Promise.all(Array.from({ length: 105 }, () => create(text)))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(99)
  for (const answer of answers.filter(({ status }) => status !== 200)) expectProblem(answer, 'conflict')
})

test('every change is in the audit log, with the key that made it and without a secret', async () => {
  const made = created(await create(manager, { name: 'audited' }))
  await update(manager, made.id, { models: ['vidB-2'] })
  const rotated = created(await rotate(manager, made.id))
  await ask(url(made.id), manager.text, { method: 'DELETE' })
  const { data } = await operator.call('listAuditEntries', { query: { target: made.id } })
  const entries = data as Record<string, unknown>[]
  expect(entries.map(({ action, actor }) => [action, actor])).toEqual(
    ['deleteAccountKey', 'rotateAccountKey', 'updateAccountKey', 'createAccountKey'].map((action) => [
      action,
      manager.id,
    ]),
  )
  for (const { text } of [made, rotated]) expect(JSON.stringify(entries)).not.toContain(text.slice(0, -4))
  expect((await operator.call('verifyAuditLog')).is_intact).toBe(true)
})
