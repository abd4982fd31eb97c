/** `/v1/webhook_endpoints`: how customers manage their webhook endpoints. */
import { keyScopes } from '@kinora/contract/key-scope'
import { operations } from '@kinora/contract/operations'
import { eventTypeNames, eventTypes } from '@kinora/contract/webhook-events'
import Schema from 'typebox/schema'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'

import { uuidV7 } from '../../src/platform/ids/uuid.ts'
import { ask, askJson, expectProblem, type Answer } from '../kit/answers.ts'
import { acceptedAt, daysAgo } from '../kit/expired.ts'
import { createAccount, createKey, endTask, type TestKey } from '../kit/factories.ts'
import { listenForTest, type TestServer } from '../kit/listen-for-test.ts'
import { createOperator } from '../kit/operator.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'
import { startWebhookWorker, type WebhookWorker } from '../kit/webhook-worker.ts'

let gateway: TestGateway
let worker: WebhookWorker
let receiver: TestServer
let status: number
let received: { headers: Record<string, unknown>; body: Record<string, unknown> }[]
let accountId: string
let key: TestKey

beforeAll(async () => {
  gateway = await startGateway({ WEBHOOK_ALLOW_LOOPBACK: 'true' })
  worker = await startWebhookWorker(gateway, {
    readers: { video: async (_account, id) => ({ id, object: 'video' }) },
  })
  receiver = await listenForTest(({ headers }, response, body) => {
    received.push({ headers, body: JSON.parse(body.toString()) as Record<string, unknown> })
    response.writeHead(status).end('seen')
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
  key = await createManager(accountId)
})
afterEach(() => worker.untilSent())

const createManager = (of: string) => createKey(gateway.database.postgres, of, { scopes: [...keyScopes] })
const url = (id = '', action = '') =>
  `${gateway.url}/v1/webhook_endpoints${id === '' ? '' : `/${id}`}${action}`
const send = (method: string, address: string, body?: object, by = key) =>
  ask(address, by.text, {
    method,
    ...(body !== undefined && {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  })

const expectDeclared = (schema: object | undefined, answer: Answer) => {
  expect({ status: answer.status, body: answer.status === 200 ? '' : answer.body }).toEqual({
    status: 200,
    body: '',
  })
  expect(Schema.Errors(schema as never, answer.body)).toEqual([true, []])
  return answer.body
}

const order = () => ({ url: receiver.url, events: ['video.completed', 'video.failed'] })
const create = async (body: object = {}, by = key) => {
  const { createWebhookEndpoint: operation } = operations
  const answer = await askJson(url(), by.text, { ...order(), ...body })
  return expectDeclared(operation.answer.schema, answer) as { id: string; secret: string } & Answer['body']
}
const read = async (id: string) =>
  expectDeclared(operations.getWebhookEndpoint.answer.schema, await ask(url(id), key.text))
const update = async (id: string, body: object) =>
  expectDeclared(operations.updateWebhookEndpoint.answer.schema, await send('PATCH', url(id), body))

const query = async (text: string, values: unknown[] = []) =>
  (await gateway.database.postgres.query<Record<string, unknown>>(text, values)).rows

/** An event of a video of the account; resolves once it has been sent to the endpoints that are enabled. */
const failVideo = async () => {
  const { postgres } = gateway.database
  const task = await acceptedAt(postgres, { accountId, keyId: key.id }, daysAgo(0))
  await endTask(postgres, task.id, { kind: 'failed', code: 'upstream_error', message: '' })
  return task.id
}

const statesOf = async (id: string) =>
  (await query('select state from webhook_deliveries where endpoint_id = $1 order by id', [id])).map(
    ({ state }) => state,
  )

describe('200', () => {
  test('an endpoint is created with a secret that is shown once, listed, changed and deleted', async () => {
    const { secret, ...created } = await create({ name: 'billing', concurrency: 3 })
    expect(created).toEqual({
      ...{ id: expect.any(String), object: 'webhook_endpoint', ...order(), name: 'billing' },
      ...{ payload: 'full', concurrency: 3, state: 'enabled', disabled_reason: null, failures: 0 },
      ...{ failing_since: null, previous_secret_expires_at: null, created_at: expect.any(Number) },
      secret_hint: `…${secret.replace(/=+$/, '').slice(-4)}`,
    })
    expect(secret).toMatch(/^whsec_[\w+/]{43}=$/)
    expect(await read(created.id)).toEqual(created)

    const second = await create({ events: ['video.failed', 'video.failed'] })
    expect(second).toMatchObject({ events: ['video.failed'], name: '', concurrency: 10 })
    const first = await ask(`${url()}?limit=1`, key.text)
    expect(expectDeclared(operations.listWebhookEndpoints.answer.schema, first)).toMatchObject({
      ...{ data: [{ id: second.id }], first_id: second.id, last_id: second.id, has_more: true },
    })
    const rest = await ask(`${url()}?after=${second.id}`, key.text)
    expect(rest.body).toEqual({
      ...{ object: 'list', data: [created], first_id: created.id, last_id: created.id, has_more: false },
    })
    expect(JSON.stringify([first.body, rest.body])).not.toContain(secret)

    const changes = { events: ['video.completed'], name: 'new', payload: 'thin', concurrency: 1 }
    expect(await update(created.id, changes)).toEqual({ ...created, ...changes })
    const posted = await send('POST', url(created.id), { name: 'posted' })
    expect(posted.body).toEqual({ ...created, ...changes, name: 'posted' })

    const deleted = await send('DELETE', url(created.id))
    expect(deleted.body).toEqual({ id: created.id, object: 'webhook_endpoint.deleted', deleted: true })
    expectProblem(await ask(url(created.id), key.text), 'resource_not_found')
  })

  test('an endpoint receives its events, and shows whether it works', async () => {
    const { id } = await create()
    const taskId = await failVideo()
    await expect.poll(() => statesOf(id)).toEqual(['delivered'])
    expect(received).toMatchObject([{ body: { type: 'video.failed', data: { id: taskId } } }])
    status = 500
    await failVideo()
    await expect.poll(() => read(id)).toMatchObject({ state: 'failing', failures: 1 })
    expect((await read(id))['failing_since']).toBeTypeOf('number')
  })

  test('a disabled endpoint receives nothing, and what was pending fails', async () => {
    status = 500
    const { id } = await create()
    await failVideo()
    await expect.poll(() => read(id)).toMatchObject({ failures: 1 })
    expect(await update(id, { disabled: true })).toMatchObject({
      ...{ state: 'disabled', disabled_reason: 'customer', failures: 1 },
    })
    expect(await statesOf(id)).toEqual(['failed'])
    await failVideo()
    expect(await statesOf(id)).toEqual(['failed'])
    // Neither a second request nor another change enables it.
    await update(id, { disabled: true })
    expect(await update(id, { name: 'paused' })).toMatchObject({ state: 'disabled' })
    await query("update webhook_endpoints set paused_until = now() + interval '1 hour' where id = $1", [id])
    status = 200
    expect(await update(id, { disabled: false })).toMatchObject({
      ...{ state: 'enabled', disabled_reason: null, failures: 0, failing_since: null },
    })
    await failVideo()
    await expect.poll(() => statesOf(id)).toEqual(['failed', 'delivered'])
  })

  test('a failing endpoint with a new URL counts as working, and is tried at once', async () => {
    const { id } = await create({ url: 'http://127.0.0.1:2/' })
    await query(
      `update webhook_endpoints set failures = 9, failing_since = now(), paused_until = now() + interval '1 hour' where id = $1`,
      [id],
    )
    await failVideo()
    expect(await update(id, { concurrency: 2 })).toMatchObject({ state: 'failing', failures: 9 })
    expect(await update(id, { url: receiver.url })).toMatchObject({ state: 'enabled', failures: 0 })
    await expect.poll(() => statesOf(id)).toEqual(['delivered'])
  })

  test('a deleted endpoint leaves its log, and what was pending fails', async () => {
    status = 500
    const { id } = await create()
    await failVideo()
    await expect.poll(() => read(id)).toMatchObject({ failures: 1 })
    await send('DELETE', url(id))
    expect(await statesOf(id)).toEqual(['failed'])
    const { body } = await ask(`${gateway.url}/v1/webhook_deliveries?endpoint_id=${id}`, key.text)
    expect(body['data']).toMatchObject([{ endpoint_id: id, url: null, state: 'failed', attempt_count: 1 }])
  })

  test('a rotation changes the secret, and the previous one also signs during the overlap', async () => {
    const { id, secret: _first, ...created } = await create()
    const signatures = async () => {
      const before = received.length
      await send('POST', url(id, '/test'), {})
      await expect.poll(() => received.length).toBe(before + 1)
      const signature = String(received.at(-1)?.headers['webhook-signature'])
      return signature.split(' ').filter((each) => each.startsWith('v1,')).length
    }
    const { rotateWebhookEndpointSecret: operation } = operations
    const rotate = async (body: object) =>
      expectDeclared(operation.answer.schema, await send('POST', url(id, '/rotate_secret'), body))
    expect(await signatures()).toBe(1)
    const second = await rotate({})
    const expiry = Number(second['previous_secret_expires_at'])
    expect(expiry - Date.now() / 1000).toBeGreaterThan(86_000)
    expect(second['secret_hint']).not.toBe(created['secret_hint'])
    expect(await signatures()).toBe(2)
    expect(await rotate({ overlap_seconds: 0 })).toMatchObject({ previous_secret_expires_at: null })
    expect(await signatures()).toBe(1)
    await rotate({ overlap_seconds: 60 })
    await query('update webhook_endpoints set previous_secret_expires_at = now() where id = $1', [id])
    expect(await signatures()).toBe(1)
  })

  test.each(eventTypeNames)('a test sends an example of %s, which is marked', async (type) => {
    const { id } = await create()
    const { testWebhookEndpoint: operation } = operations
    const answer = await send('POST', url(id, '/test'), { type })
    const delivery = expectDeclared(operation.answer.schema, answer)
    expect(delivery).toMatchObject({ type, state: 'pending', endpoint_id: id, attempt_count: 0 })
    await expect.poll(() => statesOf(id)).toEqual(['delivered'])
    const data = received[0]?.body['data']
    expect(received).toMatchObject([{ body: { type, id: delivery['event_id'] } }])
    expect(data).toMatchObject({ id: delivery['object_id'], test: true })

    await update(id, { payload: 'thin' })
    await send('POST', url(id, '/test'), { type })
    await expect.poll(() => received.length).toBe(2)
    expect(received[1]?.body['data']).toEqual(
      eventTypes[type].isOfTask || type === 'character.created'
        ? { id: delivery['object_id'], test: true }
        : data,
    )
  })

  test('a test without a type sends a type of the endpoint', async () => {
    const { id } = await create({ events: ['transcription_task.failed', 'video.failed'] })
    const { body } = await send('POST', url(id, '/test'), {})
    expect(body['type']).toBe('video.failed')
  })

  test('what has failed since a time is delivered again', async () => {
    status = 500
    const { id } = await create()
    const [old, recent] = [await failVideo(), await failVideo()]
    await expect.poll(() => read(id)).toMatchObject({ failures: 2 })
    await update(id, { disabled: true })
    await query(
      `update webhook_deliveries set ended_at = now() - interval '1 hour' where endpoint_id = $1 and object_id = $2`,
      [id, old],
    )
    await update(id, { disabled: false })
    status = 200
    const { redeliverWebhookEndpoint: operation } = operations
    const since = Math.floor(Date.now() / 1000) - 600
    const redelivered = await send('POST', url(id, '/redeliver'), { since })
    expect(expectDeclared(operation.answer.schema, redelivered)).toEqual({
      ...{ object: 'webhook_endpoint.redelivery', count: 1, has_more: false },
    })
    await expect.poll(() => statesOf(id)).toEqual(['failed', 'delivered'])
    expect(received.at(-1)?.body).toMatchObject({ data: { id: recent } })
    expect((await send('POST', url(id, '/redeliver'), { since })).body).toMatchObject({ count: 0 })
  })

  test('the types of events are listed', async () => {
    const { body } = await ask(`${gateway.url}/v1/webhook_event_types`, key.text)
    expect(body).toEqual({ object: 'list', data: eventTypeNames })
  })
})

describe('400', () => {
  test.each([
    ['without TLS', 'http://example.com/hook', 'only https URLs are allowed'],
    ['with another port', 'https://example.com:9000/', 'port 9000 is not allowed; use 443 or 8443'],
    ['with credentials', 'https://me:secret@example.com/', 'a user name or password'],
    ['of a local name', 'https://crm/', 'no public address'],
    ['of another scheme', 'ftp://example.com/', 'only http and https URLs'],
    ['that is none', 'example.com', 'not a valid URL'],
  ])('a URL %s', async (_, given, reason) => {
    const { id } = await create()
    for (const answer of [
      await askJson(url(), key.text, { ...order(), url: given }),
      await send('PATCH', url(id), { url: given }),
    ]) {
      expectProblem(answer, 'invalid_parameter', 'url')
      expect(JSON.stringify(answer.body)).toContain(reason)
      expect(JSON.stringify(answer.body)).toContain('such as https://example.com/webhooks')
    }
    expect((await read(id))['url']).toBe(receiver.url)
  })

  test.each([
    ['url', { url: `https://example.com/${'a'.repeat(2_048)}` }],
    ['events', { events: [] }],
    ['events', { events: 'video.completed' }],
    ['events[1]', { events: ['video.completed', 'video.deleted'] }],
    ['name', { name: 'a'.repeat(201) }],
    ['payload', { payload: 'large' }],
    ['concurrency', { concurrency: 0 }],
    ['concurrency', { concurrency: 101 }],
  ])('an invalid %s', async (param, body) => {
    const { id } = await create()
    expectProblem(await askJson(url(), key.text, { ...order(), ...body }), 'invalid_parameter', param)
    expectProblem(await send('PATCH', url(id), body), 'invalid_parameter', param)
  })

  test('a missing parameter, and an invalid one of another operation', async () => {
    const { id } = await create()
    for (const param of ['url', 'events'])
      expectProblem(await askJson(url(), key.text, { ...order(), [param]: null }), 'missing_parameter', param)
    expectProblem(await send('POST', url(id, '/redeliver'), {}), 'missing_parameter', 'since')
    expectProblem(await send('POST', url(id, '/redeliver'), { since: 'x' }), 'invalid_parameter', 'since')
    expectProblem(await send('POST', url(id, '/test'), { type: 'x' }), 'invalid_parameter', 'type')
    expectProblem(
      await send('POST', url(id, '/rotate_secret'), { overlap_seconds: 2_592_001 }),
      'invalid_parameter',
      'overlap_seconds',
    )
    expectProblem(await ask(`${url()}?after=${uuidV7()}`, key.text), 'invalid_parameter', 'after')
  })
})

describe('404', () => {
  test('an endpoint of another account, of a task, or of nobody', async () => {
    const { postgres } = gateway.database
    const { id: others } = await create({}, await createManager(await createAccount(postgres)))
    const ofTask = uuidV7()
    await query(
      `insert into webhook_endpoints (id, account_id, kind, url, events) values ($1, $2, 'task', 'https://example.com', '{}')`,
      [ofTask, accountId],
    )
    for (const id of [others, ofTask, uuidV7(), 'x']) {
      const before = await query('select * from webhook_endpoints order by id')
      for (const answer of [
        await ask(url(id), key.text),
        await send('PATCH', url(id), { disabled: true }),
        await send('POST', url(id), { name: 'mine' }),
        await send('POST', url(id, '/rotate_secret'), {}),
        await send('POST', url(id, '/test'), {}),
        await send('POST', url(id, '/redeliver'), { since: 1 }),
        await send('DELETE', url(id)),
      ])
        expectProblem(answer, 'resource_not_found')
      expect(await query('select * from webhook_endpoints order by id')).toEqual(before)
    }
    expect((await ask(url(), key.text)).body['data']).toEqual([])
  })
})

describe('409', () => {
  test('an account has at most 20 endpoints, also if many are created at once', async () => {
    const answers = await Promise.all(Array.from({ length: 23 }, () => askJson(url(), key.text, order())))
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(20)
    for (const answer of answers.filter((each) => each.status !== 200)) expectProblem(answer, 'conflict')
  })

  test('nothing is sent to a disabled endpoint', async () => {
    const { id } = await create()
    await update(id, { disabled: true })
    expectProblem(await send('POST', url(id, '/test'), {}), 'conflict')
    expectProblem(await send('POST', url(id, '/redeliver'), { since: 1 }), 'conflict')
    expect(await statesOf(id)).toEqual([])
  })
})

test('every change is in the audit log, without the secret, the URL and the name', async () => {
  const operator = await createOperator(gateway)
  const { id, secret } = await create({ name: 'of a colleague' })
  await update(id, { name: 'renamed', events: ['video.completed'] })
  const rotated = await send('POST', url(id, '/rotate_secret'), {})
  await send('POST', url(id, '/test'), {})
  await send('POST', url(id, '/redeliver'), { since: 1 })
  await send('DELETE', url(id))
  const { data } = await operator.call('listAuditEntries', { query: { target: id } })
  const entries = data as Record<string, unknown>[]
  expect(entries.map(({ action, actor }) => [action, actor])).toEqual(
    [
      ...['deleteWebhookEndpoint', 'redeliverWebhookEndpoint', 'testWebhookEndpoint'],
      ...['rotateWebhookEndpointSecret', 'updateWebhookEndpoint', 'createWebhookEndpoint'],
    ].map((action) => [action, key.id]),
  )
  const text = JSON.stringify(entries)
  for (const hidden of [secret, String(rotated.body['secret']), receiver.url, 'of a colleague', 'renamed'])
    expect(text).not.toContain(hidden)
  expect((await operator.call('verifyAuditLog')).is_intact).toBe(true)
})

test('a key without the scope `account` manages no endpoints', async () => {
  const { text } = await createKey(gateway.database.postgres, accountId, { scopes: ['create', 'read'] })
  expectProblem(await askJson(url(), text, order()), 'insufficient_scope')
  expectProblem(await ask(url(), text), 'insufficient_scope')
})
