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

const now = () => Math.floor(Date.now() / 1000)
const video = { model: 'vidB-2', unit: 'second' }
const set = (body: object) => operator.call('setPrice', { body })
const holdFor = async (model: string, seconds: number) => {
  const accountId = await createAccount(gateway.database.postgres)
  const { text } = await createKey(gateway.database.postgres, accountId)
  const order = { model, prompt: 'A whale', seconds, size: '480x480' }
  expect((await askJson(`${gateway.url}/v1/videos`, text, order)).status).toBe(200)
  const { balances } = await operator.call('getAccount', { id: accountId })
  return balances[0].held_micros
}

describe('listPrices', () => {
  test('returns the catalog prices until one is set', async () => {
    const prices = await readAll(operator, 'listPrices')
    expect(new Set(prices.map(({ model, unit }) => `${model} ${unit}`)).size).toBe(prices.length)
    const asr = prices.find(({ model }) => model === 'asr-1')
    expect(asr).toEqual({
      id: null,
      object: 'price',
      model: 'asr-1',
      unit: 'minute',
      ...{ resolution: null, sound: null, input: null },
      unit_micros: 6_000,
      currency: 'USD',
      version: 0,
      starts_at: null,
      actor: null,
      source: 'catalog',
    })
    expectProblem(await operator.ask('listPrices', { query: { cursor: 'x' } }), 'invalid_parameter', 'cursor')
    expectProblem(await operator.ask('listPrices', { query: { all: 'maybe' } }), 'invalid_parameter', 'all')
  })
})

describe('setPrice', () => {
  test('applies to the next order', async () => {
    const first = await set({ ...video, unit_micros: 111 })
    expect(first).toMatchObject({ ...video, resolution: null, version: 1, source: 'operator' })
    expect(await holdFor('vidB-2', 4)).toBe(444)
    const second = await set({ ...video, unit_micros: 222 })
    expect(second.version).toBe(2)
    expect(await holdFor('vidB-2', 4)).toBe(888)
    await set({ ...video, unit_micros: 5, resolution: '480x480' })
    expect(await holdFor('vidB-2', 4)).toBe(20)
  })

  test('a future price is listed and does not apply yet', async () => {
    const model = 'vidB-2-pro'
    const before = (await operator.call('listPrices', { query: { model } })).data
    const coming = await set({ model, unit: 'second', unit_micros: 9, starts_at: now() + 86_400 })
    expect((await operator.call('listPrices', { query: { model } })).data).toEqual(before)
    const all = await readAll(operator, 'listPrices', { query: { model, all: 'true' } })
    expect(all).toEqual([...before, coming])
  })

  test('rejects invalid values', async () => {
    const refusal = (body: object) =>
      operator.ask('setPrice', { body: { ...video, unit_micros: 1, ...body } })
    expectProblem(await refusal({ model: 'vidZ' }), 'model_not_found', 'model')
    expectProblem(await refusal({ model: null }), 'missing_parameter', 'model')
    expectProblem(await refusal({ unit: 'minute' }), 'invalid_parameter', 'unit')
    expectProblem(await refusal({ unit: 'kilo' }), 'invalid_parameter', 'unit')
    expectProblem(await refusal({ unit_micros: '1e9' }), 'invalid_parameter', 'unit_micros')
    expectProblem(await refusal({ unit_micros: -1 }), 'invalid_parameter', 'unit_micros')
    expectProblem(await refusal({ resolution: '1x1' }), 'invalid_parameter', 'resolution')
    expectProblem(await refusal({ resolution: '111x222' }), 'invalid_parameter', 'resolution')
    expectProblem(await refusal({ starts_at: now() - 3_600 }), 'invalid_parameter', 'starts_at')
    const sound = { model: 'asr-1', unit: 'minute', resolution: '480x480' }
    expectProblem(await refusal(sound), 'invalid_parameter', 'resolution')
  })
})
