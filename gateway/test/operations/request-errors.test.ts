/** Errors by cause, and the filters of the request log that lead to them. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { createRequestId } from '../../src/platform/ids/request-id.ts'
import { insertRequests } from '../../src/request-log/request-log-store.ts'
import { expectProblem } from '../kit/answers.ts'
import { createAccount, createKey } from '../kit/factories.ts'
import { createOperator, type Operator } from '../kit/operator.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'

let gateway: TestGateway
let operator: Operator
const accounts: string[] = []
const keys: string[] = []

const end = new Date(Date.now() - 3_600_000)
const hoursBefore = (hours: number) => new Date(end.getTime() - hours * 3_600_000)

interface Given {
  owner: number | null
  at: Date
  status: number
  errorCode: string | null
  provider?: string
  method?: string
  path?: string
  address?: string
}

const log = async ({ owner, ...given }: Given) => {
  const request = {
    id: createRequestId(),
    accountId: owner === null ? null : (accounts[owner] ?? null),
    keyId: owner === null ? null : (keys[owner] ?? null),
    ...{ operation: 'createSpeech', method: 'POST', path: '/v1/audio/speech', model: 'voice-1' },
    ...{ provider: null, taskId: null, durationMs: 5, address: '192.0.2.1', userAgent: null },
    ...given,
  }
  await insertRequests(gateway.database.postgres, [request])
  return request.id
}

let newestUpstream: string
const period = () => ({
  from: Math.floor(hoursBefore(24).getTime() / 1000),
  to: Math.ceil(end.getTime() / 1000) + 1,
})

beforeAll(async () => {
  gateway = await startGateway()
  operator = await createOperator(gateway)
  for (let index = 0; index < 2; index += 1) {
    const accountId = await createAccount(gateway.database.postgres)
    accounts.push(accountId)
    keys.push((await createKey(gateway.database.postgres, accountId)).id)
  }
  const upstream = { status: 502, errorCode: 'upstream_error', provider: 'acme' }
  await log({ ...upstream, owner: 0, at: hoursBefore(23) })
  await log({ ...upstream, owner: 1, at: hoursBefore(2.5) })
  newestUpstream = await log({ ...upstream, owner: 0, at: hoursBefore(2.1) })
  await log({ ...upstream, owner: 0, at: hoursBefore(2.2), provider: 'spare' })
  await log({
    owner: null,
    at: hoursBefore(1.5),
    status: 401,
    errorCode: 'invalid_api_key',
    address: '192.0.2.9',
  })
  await log({
    owner: 0,
    at: hoursBefore(1.5),
    status: 200,
    errorCode: null,
    method: 'GET',
    path: '/v1/models',
  })
  await log({ ...upstream, owner: 0, at: hoursBefore(30) })
})
afterAll(() => gateway[Symbol.asyncDispose]())

describe('listRequestErrors 200', () => {
  test('groups failed requests by code, operation, model and provider', async () => {
    const { data, ...rest } = await operator.call('listRequestErrors', { query: period() })
    expect(rest).toMatchObject({ total: 5, groups: 3, is_complete: true, counted_from: rest.from })
    expect(data[0]).toEqual({
      object: 'request.error_group',
      error_code: 'upstream_error',
      status: 502,
      ...{ operation: 'createSpeech', model: 'voice-1', provider: 'acme' },
      ...{ count: 3, accounts: 2, keys: 2, anonymous: 0 },
      first_seen: Math.floor(hoursBefore(23).getTime() / 1000),
      last_seen: Math.floor(hoursBefore(2.1).getTime() / 1000),
      example_request_id: newestUpstream,
      cause: 'The provider of this model failed. Nothing was charged.',
      what_to_do: expect.stringContaining('Test the provider'),
      fault: 'provider',
      doc_url: expect.stringMatching(/#upstream_error$/),
      hours: expect.any(Array),
    })
    expect(data[0].hours).toHaveLength(24)
    expect(data[0].hours.reduce((sum: number, count: number) => sum + count, 0)).toBe(3)
    expect(data[0].hours.slice(-3)).toEqual([2, 0, 0])
    expect(data.map(({ count }: { count: number }) => count)).toEqual([3, 1, 1])
    const anonymous = data.find(({ error_code: code }: { error_code: string }) => code === 'invalid_api_key')
    expect(anonymous).toMatchObject({ accounts: 0, keys: 0, anonymous: 1, fault: 'caller' })
  })

  test.each([
    [{ provider: 'spare' }, 1],
    [{ error_code: 'upstream_error' }, 4],
    [{ operation: 'createVideo' }, 0],
    [{ model: 'voice-1' }, 5],
  ])('filters by %j', async (filter, total) => {
    const found = await operator.call('listRequestErrors', { query: { ...period(), ...filter } })
    expect(found.total).toBe(total)
  })

  test('filters by account and key', async () => {
    for (const filter of [{ account_id: accounts[1] ?? '' }, { key_id: keys[1] ?? '' }]) {
      const found = await operator.call('listRequestErrors', { query: { ...period(), ...filter } })
      expect(found.total).toBe(1)
    }
  })

  test('counts all groups, and lists as many as requested', async () => {
    const found = await operator.call('listRequestErrors', { query: { ...period(), limit: 1 } })
    expect(found).toMatchObject({ total: 5, groups: 3 })
    expect(found.data).toHaveLength(1)
  })

  test('covers the last 24 hours by default', async () => {
    const { from, to } = await operator.call('listRequestErrors')
    expect(to - from).toBe(86_400)
  })
})

describe('listRequestErrors 400', () => {
  test.each([
    ['a period that ends before it begins', { from: 2_000_000, to: 1_000_000 }],
    ['a period of more than 31 days', { from: 1_000_000, to: 1_000_000 + 32 * 86_400 }],
  ])('%s', async (_, query) => {
    expectProblem(await operator.ask('listRequestErrors', { query }), 'invalid_parameter', 'from')
  })
})

describe('listRequests', () => {
  test.each([
    [{ status_class: '5xx' }, 4],
    [{ status_class: '4xx' }, 1],
    [{ status_class: '2xx' }, 1],
    [{ method: 'GET' }, 1],
    [{ path: '/v1/audio' }, 5],
    [{ path: '/v1/mod' }, 1],
    [{ path: '/v1/a%' }, 0],
    [{ address: '192.0.2.9' }, 1],
    [{ provider: 'acme' }, 3],
  ])('filters by %j', async (filter, count) => {
    const { data } = await operator.call('listRequests', { query: { ...period(), ...filter } })
    expect(data).toHaveLength(count)
  })

  test.each([{ status_class: '6xx' }, { method: 'BREW' }])('rejects %j', async (filter) => {
    const [param] = Object.keys(filter)
    const query = filter as Record<string, string>
    expectProblem(await operator.ask('listRequests', { query }), 'invalid_parameter', param)
  })
})
