import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { recordAccountEvent } from '../../src/events/account-event-store.ts'
import { expectProblem } from '../kit/answers.ts'
import { createAccount, createKey } from '../kit/factories.ts'
import { createOperator, type Operator } from '../kit/operator.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'

let gateway: TestGateway
let operator: Operator

beforeAll(async () => {
  gateway = await startGateway()
  operator = await createOperator(gateway)
})
afterAll(() => gateway[Symbol.asyncDispose]())

interface Page {
  data: { type: string; account_id: string; data: { id: string } }[]
  has_more: boolean
  next: string
}
const list = (query: Record<string, string | number> = {}): Promise<Page> =>
  operator.call('listAllEvents', { query })
const idsOf = ({ data }: Page) => data.map((event) => event.data.id)

describe('200', () => {
  test('the events of all accounts, or of one, in pages', async () => {
    const { postgres } = gateway.database
    const start = (await list({ limit: 1 })).next
    const accounts = [await createAccount(postgres), await createAccount(postgres)]
    for (let index = 0; index < 6; index += 1)
      await recordAccountEvent(postgres, {
        ...{ accountId: accounts[index % 2] ?? '', objectId: `id_${index}` },
        ...{ type: index === 5 ? 'character.deleted' : 'character.created', data: { id: `id_${index}` } },
      })
    await expect.poll(async () => (await list({ order: 'asc', after: start })).data.length).toBe(6)
    const all = await list({ order: 'asc', after: start })
    expect(idsOf(all)).toEqual(['id_0', 'id_1', 'id_2', 'id_3', 'id_4', 'id_5'])
    expect(all.data.map((event) => event.account_id)).toEqual([...accounts, ...accounts, ...accounts])
    expect(idsOf(await list({ account_id: accounts[1] ?? '' }))).toEqual(['id_5', 'id_3', 'id_1'])
    expect(idsOf(await list({ account_id: accounts[1] ?? '', order: 'asc', limit: 1 }))).toEqual(['id_1'])
    expect(idsOf(await list({ type: 'character.deleted', limit: 1 }))).toEqual(['id_5'])
    const first = await list({ order: 'asc', after: start, limit: 4 })
    expect(first.has_more).toBe(true)
    expect(idsOf(await list({ order: 'asc', after: first.next }))).toEqual(['id_4', 'id_5'])
  })
})

describe('400 invalid_parameter', () => {
  test('a cursor of an account, and what is no id', async () => {
    const { postgres } = gateway.database
    const { text } = await createKey(postgres, await createAccount(postgres))
    const response = await fetch(`${gateway.url}/v1/events`, { headers: { authorization: `Bearer ${text}` } })
    const { next } = (await response.json()) as Page
    const ofAccount = await operator.ask('listAllEvents', { query: { after: next } })
    expectProblem(ofAccount, 'invalid_parameter', 'after')
    const noId = await operator.ask('listAllEvents', { query: { account_id: 'abc' } })
    expectProblem(noId, 'invalid_parameter', 'account_id')
  })
})
