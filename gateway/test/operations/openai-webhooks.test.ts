/** Webhook endpoints as the official `openai` package manages them, and deliveries as verifying packages read them. */
import { createPublicKey, verify } from 'node:crypto'

import { keyScopes } from '@kinora/contract/key-scope'
import { operations } from '@kinora/contract/operations'
import { eventTypeNames } from '@kinora/contract/webhook-events'
import OpenAI from 'openai'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { Webhook as SvixWebhook } from 'svix'
import Schema from 'typebox/schema'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'

import { checkedInRows, sortRows } from '../../../tools/compatibility.ts'
import { ask } from '../kit/answers.ts'
import { acceptedAt, daysAgo } from '../kit/expired.ts'
import { createAccount, createKey, endTask, type TestKey } from '../kit/factories.ts'
import { listenForTest, type TestServer } from '../kit/listen-for-test.ts'
import { rowOf, watchMethods } from '../kit/openai-methods.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'
import { startWebhookWorker, type WebhookWorker } from '../kit/webhook-worker.ts'

interface Received {
  headers: Record<string, string>
  body: string
}

let gateway: TestGateway
let worker: WebhookWorker
let receiver: TestServer
let status: number
let received: Received[]
let accountId: string
let key: TestKey
let client: OpenAI
const provedBy = 'gateway/test/operations/openai-webhooks.test.ts'
const worked = new Set<string>()

beforeAll(async () => {
  gateway = await startGateway({ WEBHOOK_ALLOW_LOOPBACK: 'true' })
  worker = await startWebhookWorker(gateway)
  receiver = await listenForTest(({ headers }, response, body) => {
    received.push({ headers: headers as Record<string, string>, body: body.toString() })
    response.writeHead(status).end()
  })
})
afterAll(async () => {
  await worker[Symbol.asyncDispose]()
  await receiver[Symbol.asyncDispose]()
  await gateway[Symbol.asyncDispose]()
})
beforeEach(async () => {
  received = []
  status = 200
  accountId = await createAccount(gateway.database.postgres)
  key = await createKey(gateway.database.postgres, accountId, { scopes: [...keyScopes] })
  client = watchMethods(
    new OpenAI({ apiKey: key.text, baseURL: `${gateway.url}/openai/v1`, maxRetries: 0 }),
    worked,
  )
})

const create = () =>
  client.webhooks.create({
    url: receiver.url,
    name: 'ends',
    event_types: ['video.completed', 'video.failed'],
  })

/** The event that a failed video sends. */
const receiveOne = async (): Promise<Received & { taskId: string }> => {
  const { postgres } = gateway.database
  const { id } = await acceptedAt(postgres, { accountId, keyId: key.id }, daysAgo(0))
  await endTask(postgres, id, { kind: 'failed', code: 'upstream_error', message: '' })
  await expect.poll(() => received.length).toBe(1)
  const [first] = received
  if (first === undefined) throw new Error('nothing received')
  return { ...first, taskId: id }
}

describe('the openai package', () => {
  test('creates, reads, lists, updates and deletes endpoints', async () => {
    const { signing_secret: secret, ...created } = await create()
    expect(created).toEqual({
      ...{ id: expect.any(String), object: 'webhook_endpoint', url: receiver.url, name: 'ends' },
      ...{ event_types: ['video.completed', 'video.failed'], created_at: expect.any(Number) },
      signing_secret_hint: `…${secret.replace(/=+$/, '').slice(-4)}`,
    })
    expect(secret).toMatch(/^whsec_/)
    expect(await client.webhooks.retrieve(created.id)).toEqual(created)
    const { id: second } = await create()
    const ids: string[] = []
    for await (const endpoint of client.webhooks.list({ limit: 1 })) ids.push(endpoint.id)
    expect(ids).toEqual([second, created.id])
    expect(await client.webhooks.update(created.id, { name: 'new', event_types: ['video.failed'] })).toEqual({
      ...{ ...created, name: 'new', event_types: ['video.failed'] },
    })
    expect(await client.webhooks.delete(second)).toEqual({
      ...{ id: second, object: 'webhook_endpoint.deleted', deleted: true },
    })
    await expect(client.webhooks.retrieve(second)).rejects.toBeInstanceOf(OpenAI.NotFoundError)
    expect(await client.webhooks.eventTypes.list()).toEqual({ object: 'list', data: eventTypeNames })
    // Elsewhere the same endpoint has all of its fields.
    const { body } = await ask(`${gateway.url}/v1/webhook_endpoints/${created.id}`, key.text)
    expect(body).toMatchObject({ name: 'new', events: ['video.failed'], payload: 'thin', state: 'enabled' })
  })

  test('refuses types of events that are not ours', async () => {
    const creating = client.webhooks.create({
      url: receiver.url,
      name: 'x',
      event_types: ['batch.completed'],
    })
    await expect(creating).rejects.toMatchObject({
      ...{ status: 400, code: 'invalid_parameter', param: 'event_types[0]' },
      message: expect.stringContaining('video.completed'),
    })
  })

  test('rotates the secret, at once or with an overlap', async () => {
    const { id, signing_secret: first } = await create()
    const { signing_secret: second } = await client.webhooks.rotateSecret(id, {
      keep_old_secret_active_for_24_hours: true,
    })
    await client.webhooks.test(id, { event_type: 'video.completed' })
    const { body, headers } = received[0] as Received
    for (const secret of [first, second]) await client.webhooks.verifySignature(body, headers, secret)
    const { signing_secret: third } = await client.webhooks.rotateSecret(id)
    await client.webhooks.test(id, { event_type: 'video.completed' })
    const next = received[1] as Received
    await client.webhooks.verifySignature(next.body, next.headers, third)
    await expect(client.webhooks.verifySignature(next.body, next.headers, second)).rejects.toThrow()
  })

  test('tests an endpoint, and learns its status', async () => {
    const { id } = await create()
    for (const answered of [200, 500]) {
      status = answered
      expect(await client.webhooks.test(id, { event_type: 'video.completed' })).toEqual({
        ...{ object: 'webhook_endpoint.test', webhook_endpoint_id: id, event_type: 'video.completed' },
        ...{ status_code: answered, success: true },
      })
    }
    await client.webhooks.update(id, { url: 'http://127.0.0.1:2/' })
    await expect(client.webhooks.test(id, { event_type: 'video.completed' })).rejects.toMatchObject({
      ...{ status: 400, message: expect.stringContaining('the server could not be reached') },
    })
  })

  test('verifies and reads an event', async () => {
    const { signing_secret: secret } = await create()
    const { body, headers, taskId } = await receiveOne()
    const event = await client.webhooks.unwrap(body, headers, secret)
    expect(event).toEqual({
      ...{ id: headers['webhook-id'], object: 'event', type: 'video.failed' },
      ...{ created_at: expect.any(Number), data: { id: taskId } },
    })
    await expect(client.webhooks.unwrap(`${body} `, headers, secret)).rejects.toThrow()
  })
})

describe('a delivery is verified', () => {
  test.each([
    ['standardwebhooks', (secret: string) => new StandardWebhook(secret)],
    ['svix', (secret: string) => new SvixWebhook(secret)],
  ])('by %s', async (_, openWebhook) => {
    const { signing_secret: secret } = await create()
    const { body, headers, taskId } = await receiveOne()
    openWebhook(secret).verify(body, headers)
    expect(JSON.parse(body)).toMatchObject({ data: { id: taskId } })
    expect(() => openWebhook(secret).verify(body.replace('failed', 'fooled'), headers)).toThrow()
    const { signing_secret: other } = await create()
    expect(() => openWebhook(other).verify(body, headers)).toThrow()
  })

  test('with a public key of the instance', async () => {
    await create()
    const { body, headers } = await receiveOne()
    const answer = await ask(`${gateway.url}/.well-known/webhook-keys.json`, undefined)
    expect(answer.headers.get('cache-control')).toBe('public, max-age=3600')
    expect(Schema.Errors(operations.getWebhookKeys.answer.schema, answer.body)).toEqual([true, []])
    const [{ public_key: text, id }] = answer.body['keys'] as [{ public_key: string; id: string }]
    expect(id).toMatch(/^[0-9a-f]{16}$/)
    const publicKey = createPublicKey({
      key: {
        kty: 'OKP',
        crv: 'Ed25519',
        x: Buffer.from(text.replace('whpk_', ''), 'base64').toString('base64url'),
      },
      format: 'jwk',
    })
    const signature = String(headers['webhook-signature'])
      .split(' ')
      .find((each) => each.startsWith('v1a,'))
    const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
    const verifies = (content: string) =>
      verify(
        null,
        Buffer.from(content),
        publicKey,
        Buffer.from(signature?.slice('v1a,'.length) ?? '', 'base64'),
      )
    expect([verifies(signed), verifies(`${signed} `)]).toEqual([true, false])
  })
})

test('docs/compatibility.json has exactly the methods of the package that worked here', () => {
  const found = [...worked].map((call) => rowOf(provedBy, call, 'works'))
  expect(sortRows(found)).toEqual(sortRows(checkedInRows(provedBy, found)))
})
