/** `/v1/webhook_deliveries`: what was sent, what came back, and how it is sent again. */
import { keyScopes } from '@kinora/contract/key-scope'
import { operations } from '@kinora/contract/operations'
import Schema from 'typebox/schema'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'

import { uuidV7, uuidV7At } from '../../src/platform/ids/uuid.ts'
import { ask, askJson, expectProblem } from '../kit/answers.ts'
import { acceptedAt, daysAgo } from '../kit/expired.ts'
import { createAccount, createKey, endTask, type TestKey } from '../kit/factories.ts'
import { listenForTest, type TestServer } from '../kit/listen-for-test.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'
import { startWebhookWorker, type WebhookWorker } from '../kit/webhook-worker.ts'

let gateway: TestGateway
let worker: WebhookWorker
let receiver: TestServer
let status: number
let eventIds: string[]
let accountId: string
let key: TestKey
let endpointId: string

beforeAll(async () => {
  gateway = await startGateway({ WEBHOOK_ALLOW_LOOPBACK: 'true' })
  worker = await startWebhookWorker(gateway, { pausesSeconds: [] })
  receiver = await listenForTest(({ headers }, response) => {
    eventIds.push(String(headers['webhook-id']))
    response.writeHead(status).end('The receiver says: not today.')
  })
})
afterAll(async () => {
  await worker[Symbol.asyncDispose]()
  await receiver[Symbol.asyncDispose]()
  await gateway[Symbol.asyncDispose]()
})
beforeEach(async () => {
  status = 200
  eventIds = []
  accountId = await createAccount(gateway.database.postgres)
  key = await createKey(gateway.database.postgres, accountId, { scopes: [...keyScopes] })
  endpointId = await createEndpoint()
})
afterEach(() => worker.untilSent())

const createEndpoint = async () => {
  const order = { url: receiver.url, events: ['video.completed', 'video.failed'] }
  return String((await askJson(`${gateway.url}/v1/webhook_endpoints`, key.text, order)).body['id'])
}
const url = (id = '', action = '') =>
  `${gateway.url}/v1/webhook_deliveries${id === '' ? '' : `/${id}`}${action}`
const query = async (text: string, values: unknown[] = []) =>
  (await gateway.database.postgres.query<Record<string, unknown>>(text, values)).rows

interface Delivery extends Record<string, unknown> {
  id: string
  state: string
  object_id: string
}

const list = async (filters: Record<string, string> = {}): Promise<Delivery[]> => {
  const { status: answered, body } = await ask(`${url()}?${String(new URLSearchParams(filters))}`, key.text)
  expect(answered).toBe(200)
  expect(Schema.Errors(operations.listWebhookDeliveries.answer.schema, body)).toEqual([true, []])
  return body['data'] as Delivery[]
}
const read = async (id: string) => {
  const { body } = await ask(url(id), key.text)
  expect(Schema.Errors(operations.getWebhookDelivery.answer.schema, body)).toEqual([true, []])
  return body
}
const redeliver = (id: string) => ask(url(id, '/redeliver'), key.text, { method: 'POST' })

const failVideo = async () => {
  const { postgres } = gateway.database
  const task = await acceptedAt(postgres, { accountId, keyId: key.id }, daysAgo(0))
  await endTask(postgres, task.id, { kind: 'failed', code: 'upstream_error', message: '' })
  return task.id
}
/** A delivery to the endpoint, once it has ended. */
const deliverOne = async (): Promise<Delivery> => {
  const taskId = await failVideo()
  await expect
    .poll(async () => (await list({ object_id: taskId, endpoint_id: endpointId }))[0]?.state)
    .not.toBe('pending')
  const [delivery] = await list({ object_id: taskId, endpoint_id: endpointId })
  if (delivery === undefined) throw new Error('no delivery')
  return delivery
}

describe('200', () => {
  test('a delivery is shown with its attempts', async () => {
    status = 503
    const { id, ...listed } = await deliverOne()
    expect(listed).toEqual({
      ...{ object: 'webhook_delivery', endpoint_id: endpointId, url: receiver.url, event_id: eventIds[0] },
      ...{ type: 'video.failed', object_id: expect.stringMatching(/^video_/), state: 'failed' },
      ...{ attempt_count: 1, next_attempt_at: null, created_at: expect.any(Number) },
      ended_at: expect.any(Number),
    })
    expect(await read(id)).toEqual({
      ...{ id, ...listed },
      attempts: [
        {
          ...{ attempt: 1, started_at: expect.any(Number), duration_ms: expect.any(Number) },
          ...{ status: 503, error: null, response: 'The receiver says: not today.' },
        },
      ],
    })
  })

  test('deliveries are listed newest first, in pages', async () => {
    const ids: string[] = []
    for (let each = 0; each < 5; each += 1) ids.unshift((await deliverOne()).id)
    const seen: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const { body } = await ask(`${url()}?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`, key.text)
      seen.push(...(body['data'] as Delivery[]).map(({ id }) => id))
      cursor = body['next'] as string | null
    }
    expect(seen).toEqual(ids)
  })

  test('deliveries are filtered', async () => {
    const second = await createEndpoint()
    const delivered = await deliverOne()
    status = 500
    const failed = await deliverOne()
    await worker.untilSent()
    expect(await list()).toHaveLength(4)
    expect(await list({ endpoint_id: second })).toHaveLength(2)
    expect(await list({ endpoint_id: endpointId })).toEqual([failed, delivered])
    expect(await list({ state: 'delivered', endpoint_id: endpointId })).toEqual([delivered])
    expect(await list({ object_id: failed.object_id, endpoint_id: endpointId })).toEqual([failed])
    expect(await list({ type: 'video.completed' })).toEqual([])
    for (const id of [
      uuidV7At(uuidV7(), 0),
      uuidV7At(uuidV7(), 2 ** 48 - 1),
      'x',
      'vidB-2:9999999999-00abcdefgh',
    ])
      expect(await list({ object_id: id })).toEqual([])
    expect(await list({ type: 'video.failed' })).toHaveLength(4)
  })

  test('a delivery is sent again with the same event id, whatever became of it', async () => {
    const { id } = await deliverOne()
    for (const [answered, state] of [
      [500, 'failed'],
      [200, 'delivered'],
    ] as const) {
      status = answered
      const answer = await redeliver(id)
      expect(answer.status).toBe(200)
      expect(Schema.Errors(operations.redeliverWebhookDelivery.answer.schema, answer.body)).toEqual([
        true,
        [],
      ])
      expect(answer.body).toMatchObject({ id, state: 'pending', ended_at: null })
      await expect.poll(() => read(id)).toMatchObject({ state })
    }
    expect(await read(id)).toMatchObject({
      ...{ attempt_count: 3, attempts: [{ status: 200 }, { status: 500 }, { status: 200 }] },
    })
    expect(eventIds).toHaveLength(3)
    expect(new Set(eventIds).size).toBe(1)
  })

  test('a delivery that waits for its next attempt is sent at once, with all retries', async () => {
    status = 500
    const { id } = await deliverOne()
    await query(
      `update webhook_deliveries set state = 'pending', ended_at = null, tries = 7, next_attempt_at = now() + interval '1 day'
        where id = $1`,
      [id],
    )
    expect((await read(id))['next_attempt_at']).toBeGreaterThan(Date.now() / 1000 + 80_000)
    status = 200
    await redeliver(id)
    await expect.poll(() => read(id)).toMatchObject({ state: 'delivered', attempt_count: 2 })
  })

  test('a delivery to the URL of a create has no endpoint, and is sent again too', async () => {
    const { id } = await deliverOne()
    const taskEndpoint = uuidV7()
    await query(
      `insert into webhook_endpoints (id, account_id, kind, url, events) values ($1, $2, 'task', $3, '{}')`,
      [taskEndpoint, accountId, receiver.url],
    )
    await query('update webhook_deliveries set endpoint_id = $2, url = $3 where id = $1', [
      ...[id, taskEndpoint, `${receiver.url}/of-a-task`],
    ])
    expect(await read(id)).toMatchObject({ endpoint_id: null, url: `${receiver.url}/of-a-task` })
    expect(await list({ endpoint_id: taskEndpoint })).toEqual([])
    expect((await redeliver(id)).status).toBe(200)
    await query(`update webhook_endpoints set disabled_at = now(), disabled_reason = 'gone' where id = $1`, [
      taskEndpoint,
    ])
    const refused = await redeliver(id)
    expectProblem(refused, 'conflict')
    expect(JSON.stringify(refused.body)).not.toContain(taskEndpoint)
  })

  test('a delivery is found if its transaction began on the day before', async () => {
    const { id } = await deliverOne()
    const now = Date.now()
    const nextDay = uuidV7At(id, now + 86_400_000)
    await query('update webhook_deliveries set id = $2 where id = $1', [id, nextDay])
    expect(await read(nextDay)).toMatchObject({ id: nextDay, state: 'delivered' })
  })
})

describe('400', () => {
  test.each([
    ['endpoint_id', 'x'],
    ['state', 'lost'],
    ['type', 'video.deleted'],
    ['limit', '0'],
    ['cursor', 'x'],
  ])('an invalid %s', async (param, value) => {
    expectProblem(await ask(`${url()}?${param}=${value}`, key.text), 'invalid_parameter', param)
  })
})

describe('404', () => {
  test('a delivery of another account, or of nobody', async () => {
    const { id } = await deliverOne()
    const stranger = await createKey(
      gateway.database.postgres,
      await createAccount(gateway.database.postgres),
      { scopes: [...keyScopes] },
    )
    expectProblem(await ask(url(id), stranger.text), 'resource_not_found')
    expectProblem(await ask(url(id, '/redeliver'), stranger.text, { method: 'POST' }), 'resource_not_found')
    expect((await ask(url(), stranger.text)).body).toMatchObject({ data: [], next: null })
    for (const never of [uuidV7(), crypto.randomUUID(), uuidV7At(id, 253_402_300_800_000), 'x']) {
      expectProblem(await ask(url(never), key.text), 'resource_not_found')
      expectProblem(await redeliver(never), 'resource_not_found')
    }
  })
})

describe('409', () => {
  test('a delivery that was attempted a hundred times', async () => {
    const { id } = await deliverOne()
    await query(`update webhook_deliveries set attempts = 100, state = 'failed' where id = $1`, [id])
    expectProblem(await redeliver(id), 'conflict')
    const all = await askJson(`${gateway.url}/v1/webhook_endpoints/${endpointId}/redeliver`, key.text, {
      since: 1,
    })
    expect(all.body).toMatchObject({ count: 0 })
  })

  test('a delivery that newer progress replaced, or whose endpoint is disabled or deleted', async () => {
    const { id } = await deliverOne()
    const refused = async () => {
      const before = await read(id)
      expectProblem(await redeliver(id), 'conflict')
      expect(await read(id)).toEqual(before)
    }
    await query(`update webhook_deliveries set state = 'replaced' where id = $1`, [id])
    await refused()
    await query(`update webhook_deliveries set state = 'failed' where id = $1`, [id])
    const endpointUrl = `${gateway.url}/v1/webhook_endpoints/${endpointId}`
    await ask(endpointUrl, key.text, {
      method: 'PATCH',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ disabled: true }),
    })
    await refused()
    await ask(endpointUrl, key.text, { method: 'DELETE' })
    await refused()
  })
})
