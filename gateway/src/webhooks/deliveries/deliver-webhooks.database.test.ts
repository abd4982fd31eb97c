/** What receivers get, and what becomes of deliveries, with real receivers and without an engine. */
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

import pLimit from 'p-limit'
import pino from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { createDatabase, type TestDatabase } from '../../../test/kit/database.ts'
import { acceptedAt, daysAgo } from '../../../test/kit/expired.ts'
import { createAccount, createKey, endTask } from '../../../test/kit/factories.ts'
import { uuidV7 } from '../../platform/ids/uuid.ts'
import { sealSecret } from '../../platform/sealed-secret.ts'
import { Secret } from '../../platform/secret.ts'
import { createSafePost } from '../../safe-fetch/safe-post.ts'
import { createWebhookSecret, webhookSecretOwner } from '../signing/webhook-secret.ts'
import { createBuildBody } from './build-body.ts'
import { deliverDue, type DeliverDependencies } from './deliver-webhooks.ts'
import { endPending, findEndedEndpoints, findOverdueEndpoints } from './delivery-store.ts'
import { createSenderPermits } from './sender-permits.ts'
import { createSender } from './sender.ts'

type Respond = (request: IncomingMessage, response: ServerResponse) => void

const sealing = [new Secret('a secret that seals the secrets of endpoints')]
let database: TestDatabase
let receiver: Server
let receiverUrl: string
let respond: Respond
let received: { headers: Record<string, unknown>; body: string; path: string | undefined }[]

beforeAll(async () => {
  database = await createDatabase()
  receiver = createServer((request, response) => {
    void text(request).then((body) => {
      received.push({ headers: request.headers, body, path: request.url })
      respond(request, response)
    })
  }).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  receiverUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`
})
afterAll(async () => {
  receiver.close().closeAllConnections()
  await database[Symbol.asyncDispose]()
})

const query = async <Row extends Record<string, unknown>>(statement: string, values: unknown[] = []) =>
  (await database.postgres.query<Row>(statement, values)).rows

interface Given {
  url?: string
  concurrency?: number
  pausesSeconds?: number[]
  totalTimeoutMs?: number
}

/** An account with an endpoint, and a worker that delivers to it. */
const createEndpoint = async ({
  url = receiverUrl,
  concurrency = 10,
  pausesSeconds = [5, 30],
  totalTimeoutMs = 15_000,
}: Given = {}) => {
  received = []
  respond = (_request, response) => response.end()
  const { postgres } = database
  const accountId = await createAccount(postgres)
  const owner = { accountId, keyId: (await createKey(postgres, accountId)).id }
  const id = uuidV7()
  const secret = createWebhookSecret()
  await query(
    `insert into webhook_endpoints (id, account_id, kind, url, events, secret, concurrency)
     values ($1, $2, 'account', $3, '{video.failed}', $4, $5)`,
    [id, accountId, url, sealSecret(sealing, webhookSecretOwner(accountId), secret), concurrency],
  )
  const permits = createSenderPermits(100)
  let underWay = 0
  let woken = 0
  const databaseLimit = pLimit(2)
  const send = createSender({
    postgres,
    databaseLimit,
    log: pino({ level: 'silent' }),
    permits,
    schedule: { pausesSeconds, random: () => 0.5 },
    failingSecondsMax: 5 * 86_400,
    safePost: createSafePost({ allowOrigins: [], exemptsLoopback: true, totalTimeoutMs }),
    sealingSecrets: sealing,
    privateKeys: [],
    buildBody: createBuildBody({ video: async (_accountId, taskId) => ({ id: taskId, object: 'video' }) }),
    recordInProcess: async (work) => {
      underWay += 1
      try {
        return await work()
      } finally {
        underWay -= 1
      }
    },
    wake: () => {
      woken += 1
    },
    onDisabled: (endpointId) => endPending(postgres, endpointId),
  })
  const dependencies: DeliverDependencies = {
    postgres,
    databaseLimit,
    permits,
    send,
    attemptsAtOnceMax: 100,
    claimMs: 30_000,
  }
  const tick = () => deliverDue(dependencies, id, uuidV7())
  const untilSent = () => expect.poll(() => underWay).toBe(0)
  return {
    ...{ id, accountId, secret, permits, tick, untilSent },
    woken: () => woken,
    underWay: () => underWay,
    fail: async (count = 1) => {
      const ids: string[] = []
      for (let each = 0; each < count; each += 1) {
        const task = await acceptedAt(postgres, owner, daysAgo(0))
        await endTask(postgres, task.id, { kind: 'failed', code: 'upstream_error', message: '' })
        ids.push(task.id)
      }
      return ids
    },
    /** A tick at a time when everything that waits is due, and its attempts. */
    sendAll: async () => {
      await query(
        `update webhook_deliveries set next_attempt_at = now() - interval '1 second' where endpoint_id = $1 and state = 'pending'`,
        [id],
      )
      await query('update webhook_endpoints set paused_until = null where id = $1', [id])
      const ticked = await tick()
      await untilSent()
      return ticked
    },
    events: () => query('select type, data from account_events where account_id = $1', [accountId]),
    deliveries: () =>
      query<{ state: string; attempts: number; waitSeconds: number | null; claimed: boolean }>(
        `select d.state, d.attempts, d.claimed_by is not null as claimed,
                -- From the end of the last attempt, so that the time of the test itself does not count.
                extract(epoch from d.next_attempt_at - a.started_at)::double precision - a.duration_ms / 1000.0 as "waitSeconds"
           from webhook_deliveries d
           left join webhook_attempts a on a.day = d.day and a.delivery_id = d.id and a.attempt = d.attempts
          where d.endpoint_id = $1 order by d.id`,
        [id],
      ),
    attempts: () =>
      query<{ status: number | null; error: string | null; response: string | null }>(
        `select a.status, a.error, a.response from webhook_attempts a
           join webhook_deliveries d on d.day = a.day and d.id = a.delivery_id
          where d.endpoint_id = $1 order by d.id, a.attempt`,
        [id],
      ),
    state: async () =>
      (
        await query<{ failures: number; reason: string | null; isPaused: boolean }>(
          `select failures, disabled_reason as reason, coalesce(paused_until > now(), false) as "isPaused"
             from webhook_endpoints where id = $1`,
          [id],
        )
      )[0],
  }
}

test('a receiver gets the event with a signature, once', async () => {
  const endpoint = await createEndpoint()
  const [taskId] = await endpoint.fail()
  await endpoint.tick()
  await endpoint.untilSent()
  expect(await endpoint.tick()).toEqual({})
  expect(received).toHaveLength(1)
  const { headers = {}, body = '' } = received[0] ?? {}
  expect(JSON.parse(body)).toMatchObject({
    object: 'event',
    id: headers['webhook-id'],
    type: 'video.failed',
    data: { id: taskId, object: 'video' },
  })
  const signed = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`
  const key = Buffer.from(endpoint.secret.reveal().slice('whsec_'.length), 'base64')
  expect(headers['webhook-signature']).toBe(`v1,${createHmac('sha256', key).update(signed).digest('base64')}`)
  expect(await endpoint.deliveries()).toMatchObject([{ state: 'delivered', attempts: 1, claimed: false }])
  // Nothing else is to be sent, so the loop has nothing to do.
  expect(endpoint.woken()).toBe(0)
  expect(endpoint.permits.taken()).toBe(0)
})

test('the end of an attempt wakes the loop if the delivery is tried again, or another one waits', async () => {
  const endpoint = await createEndpoint({ concurrency: 1 })
  respond = (_request, response) => response.writeHead(500).end()
  await endpoint.fail()
  await endpoint.sendAll()
  expect(endpoint.woken()).toBe(1)
  await endpoint.fail()
  respond = (_request, response) => response.end()
  await endpoint.sendAll()
  expect(endpoint.woken()).toBe(2)
  await endpoint.sendAll()
  expect((await endpoint.deliveries()).map(({ state }) => state)).toEqual(['delivered', 'delivered'])
  expect(endpoint.woken()).toBe(2)
})

test('the end of an attempt wakes the loop for a delivery that is created while it is recorded', async () => {
  const endpoint = await createEndpoint({ concurrency: 1 })
  await endpoint.fail()
  const hasWaiting = async () =>
    (
      await query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
            and query like '%webhook_attempts%'`,
      )
    ).length
  const held: ServerResponse[] = []
  respond = (_request, response) => held.push(response)
  await endpoint.tick()
  await expect.poll(() => held.length).toBe(1)
  await database.postgres.transaction(async (within) => {
    await within.query('select from webhook_deliveries where endpoint_id = $1 for update', [endpoint.id])
    held[0]?.end()
    // The record has begun and waits for the lock. It does not see what is created from now on.
    await expect.poll(hasWaiting).toBe(1)
    await endpoint.fail()
    // The endpoint may have one attempt at a time, so the tick of the new delivery claims nothing.
    const { nextMs } = await endpoint.tick()
    expect(nextMs).toBeGreaterThan(9_000)
    expect(held).toHaveLength(1)
  })
  await endpoint.untilSent()
  expect(endpoint.woken()).toBe(1)
  await endpoint.tick()
  await expect.poll(() => held.length).toBe(2)
  held[1]?.end()
  await endpoint.untilSent()
  expect(endpoint.woken()).toBe(1)
})

test.each([
  ['a redirect', 302, { location: 'http://127.0.0.1:1/' }],
  ['a client error', 404, {}],
  ['a server error', 500, {}],
])('%s is repeated on the schedule, and then failed', async (_, status, headers) => {
  const endpoint = await createEndpoint()
  respond = (_request, response) => response.writeHead(status, headers).end('not today')
  await endpoint.fail()
  await endpoint.sendAll()
  const [first] = await endpoint.deliveries()
  expect(first).toMatchObject({ state: 'pending', attempts: 1, claimed: false })
  expect(first?.waitSeconds).toBeCloseTo(5)
  await endpoint.sendAll()
  const [second] = await endpoint.deliveries()
  expect(second?.waitSeconds).toBeCloseTo(30)
  await endpoint.sendAll()
  expect(await endpoint.deliveries()).toMatchObject([{ state: 'failed', attempts: 3 }])
  expect(received).toHaveLength(3)
  expect(new Set(received.map((each) => each.headers['webhook-id'])).size).toBe(1)
  expect(await endpoint.attempts()).toEqual(
    Array.from({ length: 3 }, () => ({ status, error: null, response: 'not today' })),
  )
})

test('a receiver can ask for a longer pause', async () => {
  const endpoint = await createEndpoint()
  respond = (_request, response) => response.writeHead(503, { 'retry-after': '600' }).end()
  await endpoint.fail()
  await endpoint.sendAll()
  expect((await endpoint.deliveries())[0]?.waitSeconds).toBeCloseTo(600)
})

test('a receiver can refuse a message, without harm to others', async () => {
  const endpoint = await createEndpoint()
  respond = (_request, response) => response.writeHead(400, { 'webhook-delivery': 'abort-message' }).end()
  await endpoint.fail()
  await endpoint.sendAll()
  expect(await endpoint.deliveries()).toMatchObject([{ state: 'failed', attempts: 1 }])
  expect(await endpoint.state()).toMatchObject({ failures: 0, reason: null })
})

test('410 disables the endpoint and ends what it was to receive', async () => {
  const endpoint = await createEndpoint({ concurrency: 1 })
  respond = (_request, response) => response.writeHead(410).end()
  await endpoint.fail(3)
  await endpoint.sendAll()
  expect(await endpoint.state()).toMatchObject({ reason: 'gone' })
  expect(await endpoint.events()).toEqual([
    {
      type: 'webhook_endpoint.disabled',
      data: {
        ...{ id: endpoint.id, object: 'webhook_endpoint', url: receiverUrl },
        ...{ disabled_reason: 'gone', disabled_at: expect.any(Number) },
      },
    },
  ])
  expect(await endpoint.fail().then(endpoint.deliveries)).toMatchObject([
    { state: 'failed', attempts: 1 },
    { state: 'failed', attempts: 0 },
    { state: 'failed', attempts: 0 },
  ])
})

test('what is pending for a disabled endpoint is found and ended, and no other delivery is', async () => {
  const [disabled, enabled] = [await createEndpoint(), await createEndpoint()]
  await disabled.fail(3)
  await enabled.fail()
  const { postgres } = database
  await endPending(postgres, disabled.id)
  await query(
    `update webhook_endpoints set disabled_at = now(), disabled_reason = 'customer' where id = $1`,
    [disabled.id],
  )
  // Another transaction holds one of them, and is not waited for.
  await postgres.transaction(async (within) => {
    await within.query(
      'select from webhook_deliveries where endpoint_id = $1 order by id limit 1 for update',
      [disabled.id],
    )
    await endPending(postgres, disabled.id)
  })
  expect((await disabled.deliveries()).map(({ state }) => state)).toEqual(['pending', 'failed', 'failed'])
  const ended = await findEndedEndpoints(postgres)
  expect(ended).toContain(disabled.id)
  expect(ended).not.toContain(enabled.id)
  await endPending(postgres, disabled.id)
  expect(await findEndedEndpoints(postgres)).not.toContain(disabled.id)
  expect((await enabled.deliveries()).map(({ state }) => state)).toEqual(['pending'])
})

test('the comparison with the engine finds endpoints whose deliveries are overdue', async () => {
  const endpoint = await createEndpoint()
  const isOverdue = async (afterMs: number) =>
    (await findOverdueEndpoints(database.postgres, 'deliverWebhooks', afterMs)).some(
      ({ key }) => key === endpoint.id,
    )
  await endpoint.fail()
  expect(await isOverdue(60_000)).toBe(false)
  expect(await isOverdue(0)).toBe(true)
  await endpoint.tick()
  await endpoint.untilSent()
  expect(await isOverdue(0)).toBe(false)
})

test('after five days of failures the endpoint is disabled, and a success before resets that', async () => {
  const endpoint = await createEndpoint({ pausesSeconds: Array<number>(20).fill(5) })
  const failSince = (days: number) =>
    query(`update webhook_endpoints set failing_since = now() - make_interval(days => $2) where id = $1`, [
      endpoint.id,
      days,
    ])
  respond = (_request, response) => response.writeHead(500).end()
  await endpoint.fail()
  await endpoint.sendAll()
  await failSince(4)
  await endpoint.sendAll()
  expect(await endpoint.state()).toMatchObject({ failures: 2, reason: null })
  await failSince(6)
  respond = (_request, response) => response.end()
  await endpoint.sendAll()
  expect(await endpoint.state()).toMatchObject({ failures: 0, reason: null })
  respond = (_request, response) => response.writeHead(500).end()
  await endpoint.fail()
  await endpoint.sendAll()
  expect(await endpoint.state()).toMatchObject({ failures: 1, reason: null })
  await failSince(6)
  expect(await endpoint.events()).toEqual([])
  await endpoint.sendAll()
  expect(await endpoint.state()).toMatchObject({ reason: 'failing' })
  expect(await endpoint.events()).toMatchObject([{ data: { disabled_reason: 'failing' } }])
})

test('after five failures in a row, one attempt at a time is made, with pauses between them', async () => {
  const endpoint = await createEndpoint({ concurrency: 5 })
  respond = (_request, response) => response.writeHead(500).end()
  await endpoint.fail(8)
  await endpoint.sendAll()
  expect(received).toHaveLength(5)
  expect(await endpoint.state()).toMatchObject({ failures: 5, isPaused: true })
  const { nextMs } = await endpoint.tick()
  expect(nextMs).toBeGreaterThan(0)
  expect(received).toHaveLength(5)
  await endpoint.sendAll()
  expect(received).toHaveLength(6)
  respond = (_request, response) => response.end()
  await endpoint.sendAll()
  expect(received).toHaveLength(7)
  expect(await endpoint.state()).toMatchObject({ failures: 0, isPaused: false })
  await endpoint.sendAll()
  expect(received).toHaveLength(12)
})

test('an endpoint has no more attempts under way than its concurrency, also with several workers', async () => {
  const endpoint = await createEndpoint({ concurrency: 3 })
  const held: ServerResponse[] = []
  respond = (_request, response) => held.push(response)
  await endpoint.fail(7)
  await Promise.all([endpoint.tick(), endpoint.tick(), endpoint.tick()])
  await endpoint.tick()
  await expect.poll(() => held.length).toBe(3)
  for (const response of held) response.end()
  await endpoint.untilSent()
  await endpoint.tick()
  await expect.poll(() => held.length).toBe(6)
  for (const response of held) response.end()
  await endpoint.untilSent()
})

test('the claims of a killed worker expire, and the event comes again with the same id', async () => {
  const endpoint = await createEndpoint()
  const held: ServerResponse[] = []
  respond = (_request, response) => held.push(response)
  await endpoint.fail()
  await endpoint.tick()
  await expect.poll(() => held.length).toBe(1)
  const { nextMs } = await endpoint.tick()
  expect(nextMs).toBeGreaterThan(20_000)
  await query(`update webhook_deliveries set claimed_until = now() where endpoint_id = $1`, [endpoint.id])
  await endpoint.tick()
  await expect.poll(() => held.length).toBe(2)
  held[1]?.end()
  await expect.poll(async () => (await endpoint.deliveries())[0]?.state).toBe('delivered')
  // The first attempt was only slow. It no longer counts.
  held[0]?.writeHead(500).end()
  await endpoint.untilSent()
  expect(await endpoint.deliveries()).toMatchObject([{ state: 'delivered', attempts: 1 }])
  expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
})

test('a receiver that hangs, trickles or breaks off is repeated', async () => {
  const endpoint = await createEndpoint({ totalTimeoutMs: 300, pausesSeconds: [5, 5, 5, 5] })
  await endpoint.fail()
  respond = () => undefined
  await endpoint.sendAll()
  respond = (request) => request.socket.write('HTTP/1.1 200 OK\r\nx: ')
  await endpoint.sendAll()
  respond = (request) => request.socket.destroy()
  await endpoint.sendAll()
  expect((await endpoint.attempts()).map(({ status, error }) => [status, error])).toEqual([
    [null, 'the response took too long'],
    [null, 'the response took too long'],
    [null, 'the server could not be reached'],
  ])
  // The status has arrived, so a body that does not end changes nothing.
  respond = (_request, response) => response.writeHead(200).write('a'.repeat(5_000))
  await endpoint.sendAll()
  expect(await endpoint.deliveries()).toMatchObject([{ state: 'delivered', attempts: 4 }])
  expect((await endpoint.attempts()).at(-1)?.response).toHaveLength(1_024)
})

test('a private address is never connected to', async () => {
  const endpoint = await createEndpoint({ url: 'https://10.0.0.1/hook' })
  await endpoint.fail()
  await endpoint.sendAll()
  expect(await endpoint.attempts()).toMatchObject([
    { status: null, error: 'its host has no public address; private addresses are not allowed' },
  ])
})
