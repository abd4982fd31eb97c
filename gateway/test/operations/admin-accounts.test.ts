import { randomUUID } from 'node:crypto'

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

import { ask, askJson, expectProblem } from '../kit/answers.ts'
import { createAccount, createKey } from '../kit/factories.ts'
import { createOperator, readAll, type Operator } from '../kit/operator.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'

let gateway: TestGateway
let operator: Operator

beforeAll(async () => {
  gateway = await startGateway()
  operator = await createOperator(gateway)
})
afterAll(() => gateway[Symbol.asyncDispose]())

const create = (key: string) =>
  askJson(`${gateway.url}/v1/videos`, key, {
    model: 'vidB-2',
    prompt: 'A whale',
    seconds: 4,
    size: '480x480',
  })

describe('createAccount', () => {
  test('creates an account with the given values and defaults for the rest', async () => {
    const account = await operator.call('createAccount', { body: { name: 'Aquarium', concurrency: 3 } })
    expect(account).toMatchObject({
      object: 'account',
      name: 'Aquarium',
      status: 'active',
      payment_state: 'ok',
      spend_cap_micros: null,
      concurrency: 3,
      media_retention_days: null,
      task_retention_days: null,
      balances: [],
      subscription: null,
    })
    expect(await operator.call('getAccount', { id: account.id })).toEqual(account)
  })

  test('rejects an invalid body', async () => {
    const refusal = async (body: unknown) => operator.ask('createAccount', { body })
    expectProblem(await refusal({}), 'missing_parameter', 'name')
    expectProblem(await refusal({ name: 'x'.repeat(201) }), 'invalid_parameter', 'name')
    expectProblem(await refusal({ name: 'x', status: 'asleep' }), 'invalid_parameter', 'status')
    expectProblem(await refusal({ name: 'x', concurrency: 0 }), 'invalid_parameter', 'concurrency')
    expectProblem(
      await refusal({ name: 'x', spend_cap_micros: 1.5 }),
      'invalid_parameter',
      'spend_cap_micros',
    )
    expectProblem(
      await refusal({ name: 'x', spend_cap_micros: 1e300 }),
      'invalid_parameter',
      'spend_cap_micros',
    )
    expectProblem(
      await refusal({ name: 'x', media_retention_days: 40_000 }),
      'invalid_parameter',
      'media_retention_days',
    )
  })

  test('rejects fields that are not in the contract', async () => {
    const answer = await operator.ask('createAccount', {
      body: { name: 'x', spent_micros: -5, id: randomUUID() },
    })
    expect(answer.headers.get('x-ignored-params')).toBe('spent_micros, id')
  })
})

describe('listAccounts', () => {
  test('pages through all accounts, newest first, while others are added', async () => {
    const word = randomUUID()
    const ids: string[] = []
    for (let index = 0; index < 5; index += 1) {
      ids.push((await operator.call('createAccount', { body: { name: `${word} ${index}` } })).id)
    }
    const between = () => operator.call('createAccount', { body: { name: `${word} late` } })
    const found = await readAll(operator, 'listAccounts', { query: { name: word.toUpperCase() }, between })
    expect(found.map(({ id }) => id)).toEqual(ids.toReversed())
  })

  test('filters by status and by part of the name, without wildcards', async () => {
    const word = randomUUID()
    await operator.call('createAccount', { body: { name: `100% ${word}` } })
    await operator.call('createAccount', { body: { name: `100x ${word}`, status: 'suspended' } })
    const names = async (query: Record<string, string>) =>
      (await operator.call('listAccounts', { query })).data.map(({ name }: { name: string }) => name)
    expect(await names({ name: `100% ${word}` })).toEqual([`100% ${word}`])
    expect(await names({ name: word, status: 'suspended' })).toEqual([`100x ${word}`])
  })

  test('rejects a cursor of another list', async () => {
    await operator.call('createPlan', { body: { name: randomUUID(), cycle_quota_micros: 1, cycle_days: 1 } })
    await operator.call('createPlan', { body: { name: randomUUID(), cycle_quota_micros: 1, cycle_days: 1 } })
    const { next } = await operator.call('listPlans', { query: { limit: 1 } })
    const forged = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
    for (const cursor of [
      next,
      'nonsense',
      forged(['accounts', '1']),
      forged(['accounts', '1', "'; drop table accounts"]),
      forged(['accounts', 1, randomUUID()]),
      forged({ accounts: 1 }),
    ]) {
      expectProblem(await operator.ask('listAccounts', { query: { cursor } }), 'invalid_parameter', 'cursor')
    }
    expectProblem(await operator.ask('listAccounts', { query: { limit: 0 } }), 'invalid_parameter', 'limit')
    expectProblem(await operator.ask('listAccounts', { query: { limit: 201 } }), 'invalid_parameter', 'limit')
  })
})

describe('getAccount', () => {
  test('shows both wallets', async () => {
    const id = await createAccount(gateway.database.postgres, { balance: 7 })
    const { text } = await createKey(gateway.database.postgres, id)
    const { status } = await create(text)
    expect(status).toBe(200)
    const { balances } = await operator.call('getAccount', { id })
    expect(balances).toEqual([
      {
        ...{ wallet: 'payg', currency: 'USD' },
        ...{ available_micros: expect.any(Number), held_micros: expect.any(Number) },
      },
    ])
    expect(balances[0].held_micros).toBeGreaterThan(0)
    expect(balances[0].available_micros + balances[0].held_micros).toBe(7_000_000)
  })

  test('404 for an unknown id', async () => {
    for (const id of [randomUUID(), 'nonsense', "'", '%00'])
      expectProblem(await operator.ask('getAccount', { id }), 'resource_not_found')
  })
})

describe('updateAccount', () => {
  test('changes given values, clears null values and leaves the rest', async () => {
    const { id } = await operator.call('createAccount', {
      body: { name: 'One', concurrency: 3, media_retention_days: 2, spend_cap_micros: 5 },
    })
    const changed = await operator.call('updateAccount', {
      id,
      body: { name: 'Two', concurrency: null, spend_cap_micros: 0 },
    })
    expect(changed).toMatchObject({
      name: 'Two',
      concurrency: null,
      media_retention_days: 2,
      spend_cap_micros: 0,
    })
  })

  test("a suspension and its end take effect on the customer's next request", async () => {
    const id = await createAccount(gateway.database.postgres)
    const { text } = await createKey(gateway.database.postgres, id)
    expect((await create(text)).status).toBe(200)
    await operator.call('updateAccount', { id, body: { status: 'suspended' } })
    expectProblem(await create(text), 'account_suspended')
    await operator.call('updateAccount', { id, body: { status: 'active' } })
    expect((await create(text)).status).toBe(200)
  })

  test('a suspension takes effect in every gateway', async () => {
    await using second = await startGateway({}, gateway)
    const id = await createAccount(gateway.database.postgres)
    const { text } = await createKey(gateway.database.postgres, id)
    const statusThere = async () => (await ask(`${second.url}/v1/models`, text)).status
    // Cached keys do not expire here, so only a notification can invalidate them.
    const clock = vi.spyOn(Date, 'now').mockReturnValue(Date.now())
    expect(await statusThere()).toBe(200)
    await operator.call('updateAccount', { id, body: { status: 'suspended' } })
    await expect.poll(statusThere).toBe(403)
    clock.mockRestore()
  })

  test('a spend cap takes effect at once', async () => {
    const id = await createAccount(gateway.database.postgres)
    const { text } = await createKey(gateway.database.postgres, id)
    await operator.call('updateAccount', { id, body: { spend_cap_micros: 1 } })
    expectProblem(await create(text), 'quota_exceeded')
    await operator.call('updateAccount', { id, body: { spend_cap_micros: null } })
    expect((await create(text)).status).toBe(200)
  })

  test('a low balance after a failed payment is reported as payment_failed', async () => {
    const id = await createAccount(gateway.database.postgres, { balance: 0 })
    const { text } = await createKey(gateway.database.postgres, id)
    expectProblem(await create(text), 'insufficient_balance')
    await operator.call('updateAccount', { id, body: { payment_state: 'failed' } })
    expectProblem(await create(text), 'payment_failed')
  })

  test('the empty balance of a new account after a failed payment is reported as payment_failed', async () => {
    const { id } = await operator.call('createAccount', { body: { name: 'Declined at once' } })
    const { text } = await createKey(gateway.database.postgres, id)
    expectProblem(await create(text), 'insufficient_balance')
    await operator.call('updateAccount', { id, body: { payment_state: 'failed' } })
    expectProblem(await create(text), 'payment_failed')
  })

  test('404 for an unknown account', async () => {
    expectProblem(await operator.ask('updateAccount', { id: randomUUID(), body: {} }), 'resource_not_found')
  })
})
