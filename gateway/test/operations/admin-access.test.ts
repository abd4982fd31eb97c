/** Rules that apply to every admin operation. */
import { adminOperations, type AdminOperationId } from '@kinora/contract/admin-operations'
import type { Operation } from '@kinora/contract/operation'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { ask, expectProblem } from '../kit/answers.ts'
import { createAccount, createKey } from '../kit/factories.ts'
import { createOperator, type Operator } from '../kit/operator.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'

let gateway: TestGateway
let operator: Operator
let customer: string

beforeAll(async () => {
  gateway = await startGateway({ PUBLIC_URL: 'https://videos.example' })
  operator = await createOperator(gateway)
  const accountId = await createAccount(gateway.database.postgres)
  customer = (await createKey(gateway.database.postgres, accountId)).text
})
afterAll(() => gateway[Symbol.asyncDispose]())

const all = Object.entries(adminOperations) as [AdminOperationId, Operation][]
const closed = all.filter(([, { access }]) => access === 'operator')
const withBody = all.filter(([, { body }]) => body !== undefined)
const send = (operation: Operation, key: string | undefined, init: RequestInit = {}) =>
  ask(`${gateway.url}${operation.path.replace('{id}', 'x')}`, key, { method: operation.method, ...init })

test.each(closed)('%s requires an operator key', async (_, operation) => {
  expectProblem(await send(operation, undefined), 'missing_api_key')
  expectProblem(await send(operation, 'sk-admin-nonsense'), 'invalid_api_key')
  expectProblem(await send(operation, customer), 'access_denied')
})

test('an expired or disabled operator key is refused', async () => {
  const keyWith = (body: object) =>
    operator
      .call('createOperatorKey', { body: { name: 'x', role: 'read' } })
      .then(async ({ key, secret }) => {
        await operator.call('updateKey', { id: key.id, body })
        return secret
      })
  expectProblem(await send(adminOperations.listPlans, await keyWith({ expires_at: 1 })), 'expired_api_key')
  expectProblem(await send(adminOperations.listPlans, await keyWith({ disabled: true })), 'access_denied')
})

test.each(withBody)('%s rejects an invalid body', async (_, operation) => {
  const json = { 'content-type': 'application/json' }
  expectProblem(await send(operation, operator.text, { headers: json, body: '{"name":' }), 'invalid_request')
  expectProblem(await send(operation, operator.text, { headers: json, body: '[]' }), 'invalid_request')
  expectProblem(await send(operation, operator.text, { body: 'name=x' }), 'invalid_request')
  const large = JSON.stringify({ name: 'x'.repeat(1_100_000) })
  expectProblem(await send(operation, operator.text, { headers: json, body: large }), 'request_too_large')
})

test('reads and writes have separate rate limits per key', async () => {
  const { key, secret } = await operator.call('createOperatorKey', { body: { name: 'slow', role: 'admin' } })
  await operator.call('updateKey', { id: key.id, body: { limits: { read: 1, create: 1 } } })
  const read = () => send(adminOperations.listPlans, secret)
  const change = () => send(adminOperations.deletePlan, secret)
  expect((await read()).headers.get('x-ratelimit-limit')).toBe('1')
  expectProblem(await read(), 'rate_limit_exceeded')
  expectProblem(await change(), 'resource_not_found')
  expectProblem(await change(), 'rate_limit_exceeded')
})

describe('cross-origin requests', () => {
  const origin = 'https://elsewhere.example'
  const corsHeaders = ({ headers }: { headers: Headers }) =>
    [...headers.keys()].filter((name) => name.startsWith('access-control-'))

  test('are refused on every path', async () => {
    const path = `${gateway.url}/admin/v1/accounts`
    expect(corsHeaders(await ask(path, operator.text, { headers: { origin } }))).toEqual([])
    expect(corsHeaders(await ask(path, undefined, { headers: { origin } }))).toEqual([])
    expect(
      corsHeaders(await ask(`${gateway.url}/admin/v1/nothing`, undefined, { headers: { origin } })),
    ).toEqual([])
    const preflight = await ask(path, undefined, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization',
      },
    })
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('allow')).toBe('POST, GET, HEAD, OPTIONS')
    expect(corsHeaders(preflight)).toEqual([])
    expect(corsHeaders(await ask(`${gateway.url}/v1/models`, customer))).not.toEqual([])
  })
})

test('an unsupported method is answered with the allowed ones', async () => {
  const answer = await ask(`${gateway.url}/admin/v1/accounts`, operator.text, { method: 'DELETE' })
  expectProblem(answer, 'method_not_allowed')
})

test('the OpenAPI document lists exactly the existing operations and needs no key', async () => {
  const { status, body } = await ask(`${gateway.url}/admin/v1/openapi.json`, undefined)
  expect(status).toBe(200)
  const { servers, paths } = body as {
    servers: unknown
    paths: Record<string, Record<string, { operationId: string; security: unknown[] }>>
  }
  expect(servers).toEqual([{ url: 'https://videos.example' }])
  const listed = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, { operationId, security }]) =>
        `${method.toUpperCase()} ${path} ${operationId} ${security.length}`,
    ),
  )
  const known = all.map(
    ([id, { method, path, access }]) => `${method} ${path} ${id} ${access === 'operator' ? 1 : 0}`,
  )
  expect(listed.toSorted()).toEqual(known.toSorted())
})

const lists = Object.values<Operation>(adminOperations).filter(
  ({ access, method, parameters }) =>
    access === 'operator' && method === 'GET' && parameters?.optionalQuery !== undefined,
)

test.each(lists.map((operation): [string, Operation] => [operation.id, operation]))(
  'an unknown filter of %s is rejected with the known ones',
  async (_, { path, parameters }) => {
    const id = await createAccount(gateway.database.postgres)
    const answer = await ask(`${gateway.url}${path.replace('{id}', id)}?colour=red`, operator.text)
    expectProblem(answer, 'invalid_parameter', 'colour')
    const names = Object.keys(parameters?.optionalQuery ?? {}).join(', ')
    expect(answer.body['error']).toHaveProperty(
      'message',
      `There is no parameter 'colour' here. Use: ${names}.`,
    )
  },
)

test('a misspelt filter is rejected with the name that was meant', async () => {
  const answer = await ask(`${gateway.url}/admin/v1/tasks?acount_id=1`, operator.text)
  expectProblem(answer, 'invalid_parameter', 'acount_id')
  expect(answer.body['error']).toHaveProperty(
    'message',
    expect.stringContaining("Did you mean 'account_id'?"),
  )
})
