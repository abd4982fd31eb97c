/** The secret that signs deliveries to the URLs of creates. */
import { randomUUID } from 'node:crypto'

import type { KeyScope } from '@kinora/contract/key-scope'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { openSecret, sealSecret } from '../../src/platform/sealed-secret.ts'
import { Secret } from '../../src/platform/secret.ts'
import { claimDue } from '../../src/webhooks/deliveries/delivery-store.ts'
import { createWebhookSecret, webhookSecretOwner } from '../../src/webhooks/signing/webhook-secret.ts'
import { ask, askJson, expectProblem } from '../kit/answers.ts'
import { createAccount, createKey, linkSecret } from '../kit/factories.ts'
import { createOperator, type Operator } from '../kit/operator.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'
import { createCustomer, createVideo, endCreated, taskEndpointsOf, taskOf } from '../kit/webhook-creations.ts'

let gateway: TestGateway
let operator: Operator

beforeAll(async () => {
  gateway = await startGateway()
  operator = await createOperator(gateway)
})
afterAll(() => gateway[Symbol.asyncDispose]())

const createManager = async (scopes: KeyScope[] = ['account']) => {
  const { postgres } = gateway.database
  const accountId = await createAccount(postgres)
  return { accountId, ...(await createKey(postgres, accountId, { scopes })) }
}
const path = () => `${gateway.url}/v1/webhook_secret`
const read = (key: string) => ask(path(), key)
const rotate = (key: string, body: object = {}) => askJson(`${path()}/rotate`, key, body)
const now = () => Math.floor(Date.now() / 1000)
/** Rotates a secret, and expects the previous one to sign for some time from the request on. */
const rotateFor = async (key: string, seconds: number, body: object) => {
  const before = now()
  const answer = await rotate(key, body)
  const expiresAt = answer.body['previous_secret_expires_at']
  expect(expiresAt).toBeGreaterThanOrEqual(before + seconds)
  expect(expiresAt).toBeLessThanOrEqual(now() + seconds)
  return answer
}

describe('getWebhookSecret', () => {
  test('200: each account has another one, which stays the same', async () => {
    const [one, other] = [await createManager(), await createManager()]
    const answers = await Promise.all([one, one, one, other].map(({ text }) => read(text)))
    for (const { status, body } of answers) {
      expect(status).toBe(200)
      expect(body).toEqual({
        object: 'webhook_secret',
        secret: expect.stringMatching(/^whsec_[0-9A-Za-z+/]{43}=$/),
        previous_secret_expires_at: null,
      })
    }
    expect(new Set(answers.map(({ body }) => body['secret'])).size).toBe(2)
    const { rows } = await gateway.database.postgres.query<{ secret: Buffer }>(
      'select secret from webhook_secrets where account_id = $1',
      [one.accountId],
    )
    const secret = String(answers[0]?.body['secret'])
    expect(rows.map((row) => row.secret.toString('latin1').includes(secret))).toEqual([false])
  })

  test('403 insufficient_scope without the scope account', async () => {
    const { text } = await createManager(['create', 'read'])
    expectProblem(await read(text), 'insufficient_scope')
    expectProblem(await rotate(text), 'insufficient_scope')
  })

  test('409 conflict if it cannot be decrypted, until it is rotated', async () => {
    const { accountId, text } = await createManager()
    const sealed = sealSecret(
      [new Secret('a secret of another installation')],
      webhookSecretOwner(accountId),
      createWebhookSecret(),
    )
    await gateway.database.postgres.query(
      'insert into webhook_secrets (account_id, secret) values ($1, $2)',
      [accountId, sealed],
    )
    expectProblem(await read(text), 'conflict')
    const { body } = await rotate(text)
    expect((await read(text)).body).toEqual(body)
  })
})

describe('rotateWebhookSecret', () => {
  test('200: both secrets sign until the overlap is over', async () => {
    const by = await createCustomer(gateway)
    const { body: first } = await read(by.key)
    const id = taskOf(await createVideo(by, { webhook_url: 'https://example.com/' }))
    await endCreated(gateway, 'video', id)
    const { body: second } = await rotateFor(by.key, 60, { overlap_seconds: 60 })
    expect(second['secret']).not.toBe(first['secret'])
    expect((await read(by.key)).body).toEqual(second)

    const [endpoint] = await taskEndpointsOf(by)
    const signing = async () => {
      const [claimed] = await claimDue(gateway.database.postgres, endpoint?.id ?? '', randomUUID(), 1, 0)
      const owner = webhookSecretOwner(by.accountId)
      return claimed?.secrets.map((each) => openSecret([new Secret(linkSecret)], owner, each)?.reveal())
    }
    expect(await signing()).toEqual([second['secret'], first['secret']])
    const { body: third } = await rotate(by.key, { overlap_seconds: 0 })
    expect(third).toMatchObject({ previous_secret_expires_at: null })
    expect(await signing()).toEqual([third['secret']])
  })

  test('200: without an overlap in the body, it is a day', async () => {
    const { text } = await createManager()
    await read(text)
    await rotateFor(text, 86_400, {})
  })

  test('400 invalid_parameter for an invalid overlap', async () => {
    const { text } = await createManager()
    for (const value of [-1, 2_592_001, 'x'])
      expectProblem(await rotate(text, { overlap_seconds: value }), 'invalid_parameter', 'overlap_seconds')
  })

  test('the rotation is in the audit log, without a secret', async () => {
    const { accountId, id, text } = await createManager()
    const { body } = await rotate(text, { overlap_seconds: 60 })
    const { data } = await operator.call('listAuditEntries', { query: { target: accountId } })
    const entries = data as Record<string, unknown>[]
    expect(entries.map(({ action, actor }) => [action, actor])).toEqual([['rotateWebhookSecret', id]])
    expect(JSON.stringify(entries)).not.toContain(String(body['secret']).slice(6))
  })
})
