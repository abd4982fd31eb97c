import { randomUUID } from 'node:crypto'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { askJson, expectProblem } from '../kit/answers.ts'
import { createOperator, readAll, type Operator } from '../kit/operator.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'

let gateway: TestGateway
let operator: Operator

beforeAll(async () => {
  gateway = await startGateway()
  operator = await createOperator(gateway)
})
afterAll(() => gateway[Symbol.asyncDispose]())

const inAMonth = () => Math.floor(Date.now() / 1000) + 30 * 86_400
const newPlan = (terms: object = {}) =>
  operator.call('createPlan', {
    body: { name: randomUUID(), cycle_quota_micros: 5_000_000, cycle_days: 30, ...terms },
  })
const newAccount = () => operator.call('createAccount', { body: { name: randomUUID() } })
const create = (key: string) =>
  askJson(`${gateway.url}/v1/videos`, key, {
    model: 'vidB-2',
    prompt: 'A whale',
    seconds: 4,
    size: '480x480',
  })

describe('plans', () => {
  test('can be created, read, changed and deleted', async () => {
    const plan = await newPlan()
    expect(plan).toMatchObject({
      object: 'plan',
      cycle_quota_micros: 5_000_000,
      cycle_days: 30,
      subscribers: 0,
    })
    expect(await operator.call('getPlan', { id: plan.id })).toEqual(plan)
    const changed = await operator.call('updatePlan', { id: plan.id, body: { cycle_quota_micros: 1 } })
    expect(changed).toEqual({ ...plan, cycle_quota_micros: 1 })
    expect(await operator.call('deletePlan', { id: plan.id })).toEqual({ id: plan.id, deleted: true })
    for (const operation of ['getPlan', 'updatePlan', 'deletePlan'] as const)
      expectProblem(await operator.ask(operation, { id: plan.id }), 'resource_not_found')
  })

  test('are listed newest first', async () => {
    const ids: string[] = []
    for (let index = 0; index < 3; index += 1) ids.push((await newPlan()).id)
    const found = await readAll(operator, 'listPlans', { between: () => newPlan() })
    expect(found.map(({ id }) => id).slice(0, 3)).toEqual(ids.toReversed())
    expectProblem(await operator.ask('listPlans', { query: { cursor: 'x' } }), 'invalid_parameter', 'cursor')
  })

  test('have unique names', async () => {
    const [one, other] = [await newPlan(), await newPlan()]
    const body = { name: one.name, cycle_quota_micros: 1, cycle_days: 1 }
    expectProblem(await operator.ask('createPlan', { body }), 'conflict', 'name')
    expectProblem(
      await operator.ask('updatePlan', { id: other.id, body: { name: one.name } }),
      'conflict',
      'name',
    )
    expectProblem(
      await operator.ask('createPlan', { body: { name: 'x' } }),
      'missing_parameter',
      'cycle_quota_micros',
    )
    expectProblem(
      await operator.ask('createPlan', { body: { ...body, name: randomUUID(), cycle_days: 0 } }),
      'invalid_parameter',
      'cycle_days',
    )
  })

  test('cannot be deleted while they have subscribers', async () => {
    const [plan, account] = [await newPlan(), await newAccount()]
    await operator.call('setSubscription', {
      id: account.id,
      body: { plan_id: plan.id, ends_at: inAMonth() },
    })
    expect((await operator.call('getPlan', { id: plan.id })).subscribers).toBe(1)
    expectProblem(await operator.ask('deletePlan', { id: plan.id }), 'conflict')
    await operator.call('endSubscription', { id: account.id })
    await operator.call('deletePlan', { id: plan.id })
  })
})

describe('subscriptions', () => {
  test('pay for a subscription key until they end', async () => {
    const [plan, account] = [await newPlan(), await newAccount()]
    const { secret } = await operator.call('createKey', { id: account.id, body: { kind: 'subscription' } })
    expect(secret).toMatch(/^sk-sub-/)
    expectProblem(await create(secret), 'subscription_expired')
    const endsAt = inAMonth()
    const subscribed = await operator.call('setSubscription', {
      id: account.id,
      body: { plan_id: plan.id, ends_at: endsAt },
    })
    expect(subscribed.subscription).toMatchObject({
      plan_id: plan.id,
      cycle_quota_micros: 5_000_000,
      ends_at: endsAt,
    })
    expect(subscribed.balances).toEqual([
      { wallet: 'subscription', available_micros: 5_000_000, held_micros: 0, currency: 'USD' },
    ])
    expect((await create(secret)).status).toBe(200)
    const ended = await operator.call('endSubscription', { id: account.id })
    expect(ended.balances[0].available_micros).toBe(0)
    expectProblem(await create(secret), 'subscription_expired')
    expectProblem(await operator.ask('endSubscription', { id: account.id }), 'resource_not_found')
  })

  test('keep their cycle when extended and start a new one when the plan changes', async () => {
    const [plan, larger, account] = [
      await newPlan(),
      await newPlan({ cycle_quota_micros: 9_000_000 }),
      await newAccount(),
    ]
    const set = (planId: string, endsAt: number) =>
      operator.call('setSubscription', { id: account.id, body: { plan_id: planId, ends_at: endsAt } })
    const first = await set(plan.id, inAMonth())
    const prolonged = await set(plan.id, inAMonth() + 86_400)
    expect(prolonged.subscription.cycle_ends_at).toBe(first.subscription.cycle_ends_at)
    expect(prolonged.balances[0].available_micros).toBe(5_000_000)
    const changed = await set(larger.id, inAMonth())
    expect(changed.balances[0].available_micros).toBe(9_000_000)
  })

  test('require an account, a plan and an end in the future', async () => {
    const [plan, account] = [await newPlan(), await newAccount()]
    const body = { plan_id: plan.id, ends_at: inAMonth() }
    const ask = (id: string, given: object) =>
      operator.ask('setSubscription', { id, body: { ...body, ...given } })
    expectProblem(await ask(randomUUID(), {}), 'resource_not_found')
    expectProblem(await ask(account.id, { plan_id: randomUUID() }), 'resource_not_found', 'plan_id')
    expectProblem(await ask(account.id, { plan_id: 'gold' }), 'resource_not_found', 'plan_id')
    expectProblem(await ask(account.id, { ends_at: 1 }), 'invalid_parameter', 'ends_at')
    expectProblem(await ask(account.id, { ends_at: null }), 'missing_parameter', 'ends_at')
    expectProblem(await operator.ask('endSubscription', { id: account.id }), 'resource_not_found')
    expectProblem(await operator.ask('endSubscription', { id: randomUUID() }), 'resource_not_found')
  })
})
