import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { endOf, periods, type Period } from '../../src/billing/money/period.ts'
import { ask, askJson, expectProblem } from '../kit/answers.ts'
import { createAccount, createKey, subscribe, type TestKey } from '../kit/factories.ts'
import { startVendorGateway, type VendorGateway } from '../kit/vendor-gateway.ts'

let gateway: VendorGateway

beforeAll(async () => {
  gateway = await startVendorGateway({ LIMIT_CHAT_PER_MINUTE: '77' })
})
afterAll(() => gateway[Symbol.asyncDispose]())

const me = ({ text }: TestKey) => ask(`${gateway.url}/v1/me`, text)
const create = async ({ text }: TestKey) => {
  const order = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480' }
  const answer = await askJson(`${gateway.url}/v1/videos`, text, order)
  expect(answer.status).toBe(200)
  return String(answer.body['id'])
}
const run = (text: string, values: unknown[]) => gateway.database.postgres.query(text, values)
const holdOf = async (id: string) => {
  const { rows } = await gateway.database.postgres.query<{ held: number }>(
    'select hold_micros as held from video_tasks where id = $1',
    [id],
  )
  return rows[0]?.held ?? 0
}

describe('GET /v1/me', () => {
  test('returns the key, its balance and its limits', async () => {
    const { postgres } = gateway.database
    const accountId = await createAccount(postgres, { balance: 10 })
    const key = await createKey(postgres, accountId, { name: 'of the tests', limits: { create: 9 } })
    const held = await holdOf(await create(key))
    expect((await me(key)).body).toEqual({
      object: 'me',
      key: {
        id: key.id,
        name: 'of the tests',
        hint: `…${key.text.slice(-4)}`,
        ...{ kind: 'payg', models: null, scopes: ['create', 'read'], expires_at: null, dialect: 'reference' },
      },
      account: { id: accountId, name: `account ${accountId}`, payment_state: 'ok' },
      balance: { available_micros: 10_000_000 - held, held_micros: held, currency: 'USD' },
      ...{ quota: null, budgets: [], spend_cap: null, subscription: null },
      limits: { requests_per_minute: null, create: 9, read: 300, audio: 120, chat: 77 },
      concurrency: { per_account: null, per_key: null, in_flight: 0, waiting: 1 },
    })
  })

  test('returns quota, budgets and spend cap with their used amounts and reset times', async () => {
    const { postgres } = gateway.database
    const accountId = await createAccount(postgres)
    const expiresAt = new Date(Math.ceil(Date.now() / 1000) * 1000 + 86_400_000)
    const key = await createKey(postgres, accountId, {
      quotaMicros: 50_000_000,
      ...{ models: ['vidB-2'], expiresAt, requestsPerMinute: 1000 },
    })
    await run('update accounts set spend_cap_micros = 90000000, concurrency = 5 where id = $1', [accountId])
    await run('update keys set concurrency = 2 where id = $1', [key.id])
    for (const period of periods) {
      await run('insert into key_budgets (key_id, period, limit_micros) values ($1, $2, 20000000)', [
        key.id,
        period,
      ])
    }
    const held = await holdOf(await create(key))
    // The next hold resets a budget of an earlier period; until then it is shown as unused.
    await run(
      `update key_budgets set period_started_at = now() - interval '40 days' where key_id = $1 and period = 'month'`,
      [key.id],
    )
    const nowMs = Date.now()
    const budget = (period: Period, used: number) => ({
      ...{ period, limit_micros: 20_000_000, used_micros: used, currency: 'USD' },
      resets_at: endOf(period, nowMs) / 1000,
    })
    const { body } = await me(key)
    expect(body).toMatchObject({
      key: { models: ['vidB-2'], expires_at: expiresAt.getTime() / 1000 },
      quota: { limit_micros: 50_000_000, used_micros: held },
      spend_cap: { limit_micros: 90_000_000, used_micros: held, resets_at: endOf('month', nowMs) / 1000 },
      limits: { requests_per_minute: 1000 },
      concurrency: { per_account: 5, per_key: 2, in_flight: 0, waiting: 1 },
    })
    expect(body['budgets']).toEqual([
      ...(['hour', 'day', 'week'] as const).map((period) => budget(period, held)),
      budget('month', 0),
    ])
  })

  test('a subscription key sees the subscription and its wallet, other keys do not', async () => {
    const { postgres } = gateway.database
    const accountId = await createAccount(postgres, { balance: 1 })
    const endsAt = new Date(Math.ceil(Date.now() / 1000) * 1000 + 86_400_000)
    await subscribe(postgres, accountId, { quota: 7, endsAt })
    const subscriber = await createKey(postgres, accountId, { kind: 'subscription' })
    const endsAtSeconds = endsAt.getTime() / 1000
    expect((await me(subscriber)).body).toMatchObject({
      key: { kind: 'subscription' },
      balance: { available_micros: 7_000_000, held_micros: 0 },
      subscription: { cycle_ends_at: endsAtSeconds, ends_at: endsAtSeconds },
    })
    expect((await me(await createKey(postgres, accountId))).body).toMatchObject({
      balance: { available_micros: 1_000_000 },
      subscription: null,
    })
  })

  test('works without a balance, after a failed payment and after the end of a subscription', async () => {
    const { postgres } = gateway.database
    const accountId = await createAccount(postgres, { balance: 0 })
    await run(`update accounts set payment_state = 'failed' where id = $1`, [accountId])
    const broke = await createKey(postgres, accountId, { quotaMicros: 0 })
    const { status, body } = await me(broke)
    expect({ status, body }).toMatchObject({ status: 200, body: { account: { payment_state: 'failed' } } })
    const lapsed = await createKey(postgres, accountId, { kind: 'subscription' })
    expect((await me(lapsed)).body).toMatchObject({ subscription: null, balance: { available_micros: 0 } })
  })

  test('401 and 403 as for every operation', async () => {
    const { postgres } = gateway.database
    expectProblem(await ask(`${gateway.url}/v1/me`, undefined), 'missing_api_key')
    const accountId = await createAccount(postgres)
    const key = await createKey(postgres, accountId)
    await run(`update accounts set status = 'suspended' where id = $1`, [accountId])
    expectProblem(await me(key), 'account_suspended')
    expectProblem(await me(await createKey(postgres, accountId, { kind: 'admin' })), 'access_denied')
  })
})

describe('receipts', () => {
  test('of a task are available only to keys of its account and to operators', async () => {
    const { postgres } = gateway.database
    const accountId = await createAccount(postgres)
    const key = await createKey(postgres, accountId)
    const id = await create(key)
    const held = await holdOf(id)
    const receipt = (text: string) => ask(`${gateway.url}/v1/receipts/${id}`, text)
    const { status, body } = await receipt(key.text)
    expect(status).toBe(200)
    expect(body).toMatchObject({
      ...{ object: 'receipt', id, model: 'vidB-2', status: 'pending', hold_micros: held },
      ...{ captured_micros: null, released_micros: null },
      lines: [{ unit: 'second', quantity: '4', total_micros: held }],
    })
    // Contains no ids, which would count the entries of other accounts.
    expect(body['entries']).toEqual([
      { movement: 'hold', amount_micros: held, currency: 'USD', created_at: expect.any(Number) },
    ])
    const sibling = await createKey(postgres, accountId)
    expect((await receipt(sibling.text)).body).toEqual(body)
    const stranger = await createKey(postgres, await createAccount(postgres))
    expectProblem(await receipt(stranger.text), 'task_not_found')
    const operator = await createKey(postgres, accountId, { kind: 'admin' })
    const ofAny = (which: string, text = operator.text) =>
      ask(`${gateway.url}/admin/v1/receipts/${which}`, text)
    expect((await ofAny(id)).body).toEqual({
      ...body,
      ...{ provider: expect.any(String), cost_micros: null, margin_micros: null },
      ...{ account_id: accountId, account_name: expect.any(String) },
      ...{ key_id: key.id, key_name: 'a key of a test' },
    })
    expectProblem(await ofAny(id, key.text), 'access_denied')
    for (const unknown of ['nonsense', 'vidB-2:1700000000-00abcdefghijkl']) {
      expectProblem(await ofAny(unknown), 'task_not_found')
      expectProblem(await ask(`${gateway.url}/v1/receipts/${unknown}`, key.text), 'task_not_found')
    }
  })

  test('of a metered request are found by its request id', async () => {
    const { postgres } = gateway.database
    const key = await createKey(postgres, await createAccount(postgres))
    const spoken = await fetch(`${gateway.url}/v1/audio/speech`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key.text}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'chat-4o-mini-tts-2025-12-15', input: 'Hello there', voice: 'alloy' }),
    })
    expect(spoken.status).toBe(200)
    await spoken.arrayBuffer()
    const id = String(spoken.headers.get('x-request-id'))
    // The response ends a moment before the price is recorded.
    await expect
      .poll(async () => (await ask(`${gateway.url}/v1/receipts/${id}`, key.text)).body)
      .toMatchObject({ id, status: 'completed', lines: [{ unit: 'million_characters' }] })
  })
})
