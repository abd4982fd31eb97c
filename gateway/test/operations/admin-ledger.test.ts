import { randomUUID } from 'node:crypto'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { askJson, expectProblem } from '../kit/answers.ts'
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

const newAccount = async (): Promise<string> =>
  (await operator.call('createAccount', { body: { name: randomUUID() } })).id
const topUp = (id: string, body: object) =>
  operator.ask('createTopUp', { id, body: { amount_micros: 5_000_000, reason: 'paid', ...body } })
const adjust = (id: string, body: object) =>
  operator.ask('createAdjustment', { id, body: { amount_micros: -1, reason: 'error', ...body } })
const create = async (key: string) =>
  askJson(`${gateway.url}/v1/videos`, key, {
    model: 'vidB-2',
    prompt: 'A whale',
    seconds: 4,
    size: '480x480',
  })

describe('createTopUp', () => {
  test('adds money that can be spent at once, and records the actor and the reason', async () => {
    const id = await newAccount()
    const { text } = await createKey(gateway.database.postgres, id)
    expectProblem(await create(text), 'insufficient_balance')
    const { status, body } = await topUp(id, { reason: 'bank transfer', reference: 'INV-1' })
    expect(status).toBe(200)
    expect(body).toMatchObject({
      object: 'movement',
      account_id: id,
      kind: 'top_up',
      wallet: 'payg',
      amount_micros: 5_000_000,
      actor: operator.id,
      reason: 'bank transfer',
      reference: 'INV-1',
      balance: { wallet: 'payg', available_micros: 5_000_000, held_micros: 0 },
    })
    expect((await create(text)).status).toBe(200)
  })

  test('a repeated reference is one movement, also for concurrent requests', async () => {
    const id = await newAccount()
    const answers = await Promise.all(Array.from({ length: 10 }, () => topUp(id, { reference: 'INV-2' })))
    expect(new Set(answers.map(({ body }) => body['id'])).size).toBe(1)
    const { balances } = await operator.call('getAccount', { id })
    expect(balances[0].available_micros).toBe(5_000_000)
    const entries = await operator.call('listAuditEntries', { query: { target: id, action: 'createTopUp' } })
    expect(entries.data).toHaveLength(1)
    expectProblem(await topUp(id, { reference: 'INV-2', amount_micros: 6 }), 'conflict', 'reference')
  })

  test('rejects invalid values', async () => {
    const id = await newAccount()
    expectProblem(await topUp(randomUUID(), {}), 'resource_not_found')
    expectProblem(await topUp(id, { amount_micros: 0 }), 'invalid_parameter', 'amount_micros')
    expectProblem(await topUp(id, { amount_micros: 2 ** 60 }), 'invalid_parameter', 'amount_micros')
    for (const text of ['1e9', '0x10', '5.0', '+5']) {
      expectProblem(await topUp(id, { amount_micros: text }), 'invalid_parameter', 'amount_micros')
    }
    expectProblem(await topUp(id, { reason: '' }), 'missing_parameter', 'reason')
    expectProblem(await topUp(id, { wallet: 'gold' }), 'invalid_parameter', 'wallet')
  })
})

describe('createAdjustment', () => {
  test('adds and removes money, but never more than is available', async () => {
    const id = await newAccount()
    await topUp(id, {})
    expect((await adjust(id, { amount_micros: -2_000_000 })).body['balance']).toMatchObject({
      available_micros: 3_000_000,
    })
    expect((await adjust(id, { amount_micros: 500_000 })).body['balance']).toMatchObject({
      available_micros: 3_500_000,
    })
    expectProblem(await adjust(id, { amount_micros: -3_500_001 }), 'conflict')
    expectProblem(await adjust(id, { amount_micros: 0 }), 'invalid_parameter', 'amount_micros')
    expectProblem(await adjust(randomUUID(), {}), 'resource_not_found')
    expectProblem(await adjust(id, { reason: null }), 'missing_parameter', 'reason')
  })
})

describe('listMovements', () => {
  test('pages through all movements, newest first, while others are added', async () => {
    const id = await newAccount()
    const ids: unknown[] = []
    for (let index = 0; index < 5; index += 1) ids.push((await topUp(id, {})).body['id'])
    const found = await readAll(operator, 'listMovements', { id, between: () => topUp(id, {}) })
    expect(found.map((movement) => movement.id)).toEqual(ids.toReversed())
    expectProblem(await operator.ask('listMovements', { id: randomUUID() }), 'resource_not_found')
    expectProblem(
      await operator.ask('listMovements', { id, query: { cursor: 'x' } }),
      'invalid_parameter',
      'cursor',
    )
  })
})

describe('listLedgerEntries', () => {
  test('contains both entries of every movement and filters by account, task, movement and time', async () => {
    const id = await createAccount(gateway.database.postgres)
    const { text } = await createKey(gateway.database.postgres, id)
    const tasks: string[] = []
    for (let index = 0; index < 3; index += 1) tasks.push(String((await create(text)).body['id']))
    const made = (await topUp(id, {})).body
    const read = (query: Record<string, string | number>) => readAll(operator, 'listLedgerEntries', { query })

    const all = await read({ account_id: id })
    expect(all).toHaveLength(2 + 3 * 2 + 2)
    expect(all.reduce((sum, { amount_micros: amount }) => sum + amount, 0)).toBe(0)
    expect(new Set(all.map((entry) => entry.id)).size).toBe(all.length)
    const ofTask = await read({ task_id: String(tasks[1]) })
    expect(ofTask.map(({ movement, book }) => `${movement} ${book}`).toSorted()).toEqual([
      'hold available',
      'hold held',
    ])
    expect((await read({ task_id: String(made['id']) })).map(({ movement }) => movement)).toEqual([
      'top_up',
      'top_up',
    ])
    expect(await read({ account_id: id, movement: 'hold' })).toHaveLength(6)
    expect(await read({ task_id: 'nonsense' })).toEqual([])
    const now = Math.floor(Date.now() / 1000)
    expect(await read({ account_id: id, from: now - 3_600, to: now + 3_600 })).toHaveLength(all.length)
    expect(await read({ account_id: id, to: now - 3_600 })).toEqual([])
    expect(await read({ account_id: id, from: now + 3_600 })).toEqual([])
  })

  test('rejects an invalid filter', async () => {
    const refusal = (query: Record<string, string>) => operator.ask('listLedgerEntries', { query })
    expectProblem(await refusal({ account_id: 'x' }), 'invalid_parameter', 'account_id')
    expectProblem(await refusal({ from: 'yesterday' }), 'invalid_parameter', 'from')
    expectProblem(await refusal({ movement: 'theft' }), 'invalid_parameter', 'movement')
    const forged = Buffer.from(JSON.stringify(['ledger', '2026-02-31', '5'])).toString('base64url')
    expectProblem(await refusal({ cursor: forged }), 'invalid_parameter', 'cursor')
  })
})

describe('the ledger audit', () => {
  test('passes, can be run on request, and detects a manipulated ledger', async () => {
    await using other = await startGateway()
    const auditor = await createOperator(other)
    const id = await createAccount(other.database.postgres)
    const first = await auditor.call('getLedgerAudit')
    expect(first.is_sound).toBe(true)
    expect(first.findings.length).toBeGreaterThan(3)
    await other.database.postgres.query(
      'update balances set available_micros = available_micros + 1 where account_id = $1',
      [id],
    )
    const second = await auditor.call('runLedgerAudit')
    expect(second.is_sound).toBe(false)
    const broken = second.findings.filter(({ violations }: { violations: number }) => violations > 0)
    expect(JSON.stringify(broken)).toContain(id)
    expect(await auditor.call('getLedgerAudit')).toEqual(second)
  })
})
