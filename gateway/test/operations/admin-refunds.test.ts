import { randomUUID } from 'node:crypto'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { checkAll } from '../../src/billing/ledger/ledger-audit-store.ts'
import { ask, askJson, expectProblem } from '../kit/answers.ts'
import { completeTask, createAccount, createKey, endTask, type TestKey } from '../kit/factories.ts'
import { brokenInvariants } from '../kit/ledger.ts'
import { createOperator, type Operator } from '../kit/operator.ts'
import { createTranscriber, type Transcriber } from '../kit/recording.ts'
import { audioForm, wave } from '../kit/sound.ts'
import { startVendorGateway, type VendorGateway } from '../kit/vendor-gateway.ts'

let gateway: VendorGateway
let operator: Operator
let transcriber: Transcriber

beforeAll(async () => {
  const costs = [{ unit: 'second', micros: 30_000 }]
  gateway = await startVendorGateway({}, { 'vidB-2': { routes: [{ provider: 'vendor', costs }] } })
  operator = await createOperator(gateway)
  transcriber = await createTranscriber(gateway)
})
afterAll(() => gateway[Symbol.asyncDispose]())

interface Customer {
  accountId: string
  key: TestKey
}

const customer = async (traits: Parameters<typeof createKey>[2] = {}): Promise<Customer> => {
  const { postgres } = gateway.database
  const accountId = await createAccount(postgres)
  return { accountId, key: await createKey(postgres, accountId, traits) }
}
const order = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480' }
const price = 400_000
const create = async ({ key }: Customer) => {
  const { status, body } = await askJson(`${gateway.url}/v1/videos`, key.text, order)
  expect(status).toBe(200)
  return String(body['id'])
}
const buy = async (who: Customer) => {
  const id = await create(who)
  await completeTask(gateway, who.accountId, id)
  return id
}
const refund = (id: string, body: object = {}) =>
  operator.ask('createRefund', { id, body: { reason: 'a bad video', ...body } })
const availableOf = async ({ accountId }: Customer, wallet = 'payg') => {
  const { balances } = await operator.call('getAccount', { id: accountId })
  return balances.find((each: { wallet: string }) => each.wallet === wallet).available_micros as number
}
const receiptOf = async ({ key }: Customer, id: string) =>
  (await ask(`${gateway.url}/v1/receipts/${encodeURIComponent(id)}`, key.text)).body
const auditsOf = async (id: string) =>
  (await operator.call('listAuditEntries', { query: { target: id, action: 'createRefund' } })).data

/** Things that can be charged: what buys one, and its price. */
const charged: [string, (who: Customer) => Promise<string>][] = [
  ['a video task', buy],
  [
    'a transcription task',
    async ({ key }) => {
      const { body } = await ask(`${gateway.url}/v1/audio/transcription-tasks`, key.text, {
        method: 'POST',
        body: audioForm(wave(1), { model: 'asr-1' }, 'a.wav'),
      })
      await transcriber.work()
      return String(body['id'])
    },
  ],
  [
    'a metered request',
    async ({ key }) => {
      const response = await fetch(`${gateway.url}/v1/audio/speech`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key.text}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'chat-4o-mini-tts-2025-12-15', input: 'Hello there', voice: 'alloy' }),
      })
      await response.arrayBuffer()
      const id = String(response.headers.get('x-request-id'))
      // The end of a speech does not wait for its charge.
      await expect
        .poll(async () => (await receiptOf({ accountId: '', key }, id))['captured_micros'])
        .not.toBeNull()
      return id
    },
  ],
]

describe('200', () => {
  test.each(charged)('%s is refunded in full to the wallet that paid', async (_, charge) => {
    const who = await customer()
    const before = await availableOf(who)
    const id = await charge(who)
    const captured = before - (await availableOf(who))
    expect(captured).toBeGreaterThan(0)
    const { status, body } = await refund(id)
    expect(status).toBe(200)
    expect(body).toMatchObject({
      ...{ object: 'movement', kind: 'refund', wallet: 'payg', task_id: id, account_id: who.accountId },
      ...{ account_name: `account ${who.accountId}`, amount_micros: captured, reason: 'a bad video' },
      ...{ captured_micros: captured, refunded_micros: captured },
      balance: { available_micros: before },
    })
    expect(await availableOf(who)).toBe(before)
    expect(await receiptOf(who, id)).toMatchObject({
      ...{ captured_micros: captured, refunded_micros: captured },
      entries: expect.arrayContaining([
        expect.objectContaining({ movement: 'refund', amount_micros: captured }),
      ]),
    })
    const [movement] = (await operator.call('listMovements', { id: who.accountId })).data
    expect(movement).toMatchObject({ id: body['id'], kind: 'refund', task_id: id })
    const audits = await auditsOf(id)
    expect(audits).toHaveLength(1)
    expectProblem(await refund(id), 'conflict')
    expect(await brokenInvariants(gateway.database.postgres)).toEqual([])
  })

  test('several refunds add up to the charge and never exceed it', async () => {
    const who = await customer()
    const id = await buy(who)
    expect((await refund(id, { amount_micros: 150_000 })).body).toMatchObject({ refunded_micros: 150_000 })
    expect((await refund(id, { amount_micros: 150_000 })).body).toMatchObject({ refunded_micros: 300_000 })
    expectProblem(await refund(id, { amount_micros: 100_001 }), 'conflict', 'amount_micros')
    expect((await refund(id)).body).toMatchObject({ amount_micros: 100_000, refunded_micros: price })
    expect((await receiptOf(who, id))['refunded_micros']).toBe(price)
    const { data } = await operator.call('listLedgerEntries', { query: { task_id: id } })
    const entries = data as { movement: string; book: string; amount_micros: number; account_name: string }[]
    const refunds = entries.filter(({ movement }) => movement === 'refund')
    expect(refunds.map(({ book }) => book).toSorted()).toEqual([
      ...Array.from({ length: 3 }, () => 'available'),
      ...Array.from({ length: 3 }, () => 'revenue'),
    ])
    expect(entries.every((entry) => entry.account_name === `account ${who.accountId}`)).toBe(true)
    expect(entries.reduce((sum, entry) => sum + entry.amount_micros, 0)).toBe(0)
    const filtered = await operator.call('listLedgerEntries', {
      query: { movement: 'refund', account_id: who.accountId },
    })
    expect(filtered.data).toHaveLength(6)
    expect((await operator.ask('getTask', { id })).body['refunded_micros']).toBe(price)
  })

  test('concurrent refunds never exceed the charge', async () => {
    const who = await customer()
    const before = await availableOf(who)
    const id = await buy(who)
    const answers = await Promise.all(Array.from({ length: 12 }, () => refund(id, { amount_micros: 90_000 })))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(4)
    for (const answer of answers)
      if (answer.status !== 200) expectProblem(answer, 'conflict', 'amount_micros')
    expect(await availableOf(who)).toBe(before - price + 360_000)
    expect(await brokenInvariants(gateway.database.postgres)).toEqual([])
  })

  test('a repeated reference is one refund, also for concurrent requests', async () => {
    const who = await customer()
    const [id, other] = [await buy(who), await buy(who)]
    const reference = 'TICKET-7'
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => refund(id, { amount_micros: 100_000, reference })),
    )
    expect(new Set(answers.map(({ body }) => body['id'])).size).toBe(1)
    expect((await refund(id, { reference })).body['id']).toBe(answers[0]?.body['id'])
    expect((await receiptOf(who, id))['refunded_micros']).toBe(100_000)
    expect(await auditsOf(id)).toHaveLength(1)
    expectProblem(await refund(id, { amount_micros: 5, reference }), 'conflict', 'reference')
    expectProblem(await refund(other, { amount_micros: 100_000, reference }), 'conflict', 'reference')
  })

  test('a charge is refunded after its task was deleted', async () => {
    const who = await customer()
    const id = await buy(who)
    const deleted = await ask(`${gateway.url}/v1/videos/${encodeURIComponent(id)}`, who.key.text, {
      method: 'DELETE',
    })
    expect(deleted.status).toBe(200)
    expect((await refund(id)).body).toMatchObject({ amount_micros: price })
    expect((await receiptOf(who, id))['refunded_micros']).toBe(price)
  })

  test('a refund returns to the quota, the budget and the spending cap that the charge counted against', async () => {
    const who = await customer()
    const limit = 500_000
    await operator.call('updateKey', {
      id: who.key.id,
      body: { quota_micros: limit, budgets: [{ period: 'month', limit_micros: limit }] },
    })
    await operator.call('updateAccount', { id: who.accountId, body: { spend_cap_micros: limit } })
    const id = await buy(who)
    expectProblem(await askJson(`${gateway.url}/v1/videos`, who.key.text, order), 'quota_exceeded')
    await refund(id)
    const me = (await ask(`${gateway.url}/v1/me`, who.key.text)).body
    expect(me).toMatchObject({
      quota: { used_micros: 0 },
      budgets: [{ used_micros: 0 }],
      spend_cap: { used_micros: 0 },
    })
    await buy(who)
    expect(await brokenInvariants(gateway.database.postgres)).toEqual([])
  })

  test('usage and margin count a refund, by model, key, account and provider', async () => {
    const who = await customer({ name: '=1+1, "the" key' })
    const [first, second] = [await buy(who), await buy(who)]
    await refund(first, { amount_micros: 250_000 })
    // As with a route without costs.
    await gateway.database.postgres.query(
      'update usage_entries set cost_micros = null where id = any($1::text[])',
      [[first, second]],
    )
    const usage = async (groups: string) =>
      (await operator.call('getTotalUsage', { query: { group_by: groups, account_id: who.accountId } })).data
    const [row] = await usage('model,key,account,provider')
    const cost = 4 * 30_000
    const captured = 2 * price
    expect(row).toMatchObject({
      ...{ model: 'vidB-2', key_id: who.key.id, key_name: '=1+1, "the" key', requests: 2, completed: 2 },
      ...{ account_id: who.accountId, account_name: `account ${who.accountId}` },
      ...{ captured_micros: captured, refunded_micros: 250_000 },
      ...{ cost_micros: null, margin_micros: null, unknown_costs: 2 },
    })
    await gateway.database.postgres.query('update usage_entries set cost_micros = $2 where id = $1', [
      first,
      cost,
    ])
    const [known] = await usage('account')
    expect(known).toMatchObject({
      cost_micros: cost,
      margin_micros: price - 250_000 - cost,
      unknown_costs: 1,
    })
    await gateway.database.postgres.query('update usage_entries set cost_micros = $2 where id = $1', [
      second,
      cost,
    ])
    expect((await usage(''))[0]).toMatchObject({
      cost_micros: 2 * cost,
      margin_micros: captured - 250_000 - 2 * cost,
    })
    const own = await ask(`${gateway.url}/v1/usage?group_by=key`, who.key.text)
    expect(own.body['data']).toEqual([
      expect.objectContaining({ refunded_micros: 250_000, captured_micros: captured }),
    ])
    const table = await fetch(`${gateway.url}/v1/usage?group_by=key&format=csv`, {
      headers: { authorization: `Bearer ${who.key.text}` },
    })
    expect(await table.text()).toContain(`,"'=1+1, ""the"" key",`)
  })

  test('a refund counts in the period in which it was made', async () => {
    const who = await customer()
    const id = await buy(who)
    await gateway.database.postgres.query(
      `with charged as (update ledger_entries set created_at = created_at - interval '40 days' where task_id = $1 and movement = 'capture')
       update usage_entries set day = day - 40, ended_at = ended_at - interval '40 days', cost_micros = null where id = $1`,
      [id],
    )
    await refund(id, { amount_micros: 1 })
    const { data } = await operator.call('getTotalUsage', {
      query: { account_id: who.accountId, group_by: 'account' },
    })
    expect(data).toEqual([
      expect.objectContaining({ requests: 0, captured_micros: 0, refunded_micros: 1, margin_micros: null }),
    ])
  })

  test('the receipt for operators names the account and the key, and its margin leaves refunds out', async () => {
    const who = await customer({ name: 'the website' })
    const id = await buy(who)
    await gateway.database.postgres.query('update video_tasks set cost_micros = 120000 where id = $1', [id])
    await refund(id, { amount_micros: 300_000 })
    expect(await operator.call('getAnyReceipt', { id })).toMatchObject({
      ...{ account_id: who.accountId, account_name: `account ${who.accountId}` },
      ...{ key_id: who.key.id, key_name: 'the website' },
      ...{ refunded_micros: 300_000, cost_micros: 120_000, margin_micros: 400_000 - 300_000 - 120_000 },
    })
  })
})

describe('a subscription', () => {
  const subscribed = async () => {
    const who = await customer({ kind: 'subscription' })
    const plan = await operator.call('createPlan', {
      body: { name: randomUUID(), cycle_quota_micros: 1_000_000, cycle_days: 30 },
    })
    const ends_at = Math.floor(Date.now() / 1000) + 900 * 86_400
    await operator.call('setSubscription', { id: who.accountId, body: { plan_id: plan.id, ends_at } })
    return who
  }
  const endCycle = ({ accountId }: Customer) =>
    gateway.database.postgres.query(
      `update subscriptions set cycle_started_at = cycle_started_at - interval '31 days',
              cycle_ends_at = cycle_ends_at - interval '31 days' where account_id = $1`,
      [accountId],
    )

  test('gets a refund in its own wallet', async () => {
    const who = await subscribed()
    const id = await buy(who)
    const before = await availableOf(who)
    expect((await refund(id)).body).toMatchObject({ wallet: 'subscription', amount_micros: price })
    expect(await availableOf(who, 'subscription')).toBe(1_000_000)
    expect(await availableOf(who)).toBe(before)
  })

  test('gets the refund of an earlier cycle in the current one, which is started first', async () => {
    const who = await subscribed()
    const id = await buy(who)
    await endCycle(who)
    expect((await refund(id)).body).toMatchObject({
      balance: { wallet: 'subscription', available_micros: 1_000_000 + price },
    })
    expect(await availableOf(who, 'subscription')).toBe(1_000_000 + price)
    expect(await brokenInvariants(gateway.database.postgres)).toEqual([])
  })

  test('gets no refund that nobody could spend once it has ended', async () => {
    const who = await subscribed()
    const id = await buy(who)
    await operator.call('endSubscription', { id: who.accountId })
    const answer = await refund(id)
    expectProblem(answer, 'conflict')
    expect((answer.body['error'] as { message: string }).message).toContain('adjustment')
    expect((await receiptOf(who, id))['refunded_micros']).toBe(0)
  })
})

describe('a refusal', () => {
  test('of what was not charged, does not exist, or is invalid', async () => {
    const who = await customer()
    const open = await create(who)
    expectProblem(await refund(open), 'conflict')
    await endTask(gateway.database.postgres, open, { kind: 'failed', code: 'upstream_error', message: 'no' })
    expectProblem(await refund(open), 'conflict')
    expectProblem(await refund('nonsense'), 'task_not_found')
    expectProblem(await refund(`req_${randomUUID()}`), 'task_not_found')
    const id = await buy(who)
    expectProblem(await refund(id, { reason: '' }), 'missing_parameter', 'reason')
    expectProblem(await refund(id, { amount_micros: 0 }), 'invalid_parameter', 'amount_micros')
    expectProblem(await refund(id, { amount_micros: '1e3' }), 'invalid_parameter', 'amount_micros')
    expectProblem(await refund(id, { currency: 'EUR' }), 'invalid_parameter', 'currency')
    expect((await receiptOf(who, id))['refunded_micros']).toBe(0)
  })
})

describe('the ledger audit', () => {
  test.each([
    [
      'a refund above the charge',
      `update account_movements set amount_micros = amount_micros + 1 where id = $1`,
    ],
    ['a refund that names no task', `delete from refunds where id = $1`],
    ['a refund to another wallet', `update account_movements set wallet = 'subscription' where id = $1`],
  ])('finds %s', async (_, statement) => {
    const who = await customer()
    const id = String((await refund(await buy(who))).body['id'])
    const { postgres } = gateway.database
    const found = await postgres
      .transaction(async (database) => {
        await database.query(statement, [id])
        const broken = (await checkAll(database)).filter(({ violations }) => violations > 0)
        throw Object.assign(new Error('rolled back'), { broken })
      })
      .catch((error: { broken?: { invariant: string }[] }) => error.broken)
    expect(found?.map(({ invariant }) => invariant)).toEqual(
      expect.arrayContaining([expect.stringMatching(/^refunds_/)]),
    )
  })
})
