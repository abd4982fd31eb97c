/** With ADMIN_PORT, operators and customers have a port each. */
import { adminOperations } from '@kinora/contract/admin-operations'
import type { Operation } from '@kinora/contract/operation'
import { operations } from '@kinora/contract/operations'
import { consoleSessionOperations } from '@kinora/contract/operations/console-sessions'
import { webhookOperations } from '@kinora/contract/operations/webhooks'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { ask, expectProblem } from '../kit/answers.ts'
import { createAccount, createKey } from '../kit/factories.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'

let gateway: TestGateway
let operator: string
let customer: string

beforeAll(async () => {
  gateway = await startGateway({ ADMIN_PORT: '8788', PUBLIC_URL: 'https://videos.example' })
  const { postgres } = gateway.database
  const accountId = await createAccount(postgres)
  customer = (await createKey(postgres, accountId)).text
  operator = (await createKey(postgres, accountId, { kind: 'admin' })).text
})
afterAll(() => gateway[Symbol.asyncDispose]())

const concrete = ({ path }: Operation) => path.replace(/\{\w+\}/g, 'nonsense')
const casesOf = (...tables: Record<string, Operation>[]) => tables.flatMap((table) => Object.entries(table))

test.each(casesOf(adminOperations))('the public port does not serve %s', async (_, operation) => {
  for (const method of [operation.method, 'OPTIONS']) {
    const answer = await ask(`${gateway.url}${concrete(operation)}`, operator, { method })
    expectProblem(answer, 'endpoint_not_found')
    expect(answer.headers.get('allow')).toBeNull()
  }
})

const publicOperations = Object.fromEntries(
  Object.entries(operations).filter(([id]) => !Object.hasOwn(consoleSessionOperations, id)),
)

// The console is served on both ports; see console-sessions.test.ts.
test.each(casesOf(publicOperations, webhookOperations))(
  'the admin port does not serve %s',
  async (_, operation) => {
    for (const method of [operation.method, 'OPTIONS']) {
      for (const path of [concrete(operation), `/openai${concrete(operation)}`]) {
        const answer = await ask(`${gateway.adminUrl}${path}`, customer, { method })
        expectProblem(answer, 'endpoint_not_found')
        expect(answer.headers.get('access-control-allow-origin')).toBeNull()
      }
    }
  },
)

describe('both ports', () => {
  test('serve what they are for', async () => {
    expect((await ask(`${gateway.url}/v1/models`, customer)).status).toBe(200)
    expect((await ask(`${gateway.adminUrl}/admin/v1/accounts`, operator)).status).toBe(200)
    expectProblem(await ask(`${gateway.adminUrl}/admin/v1/accounts`, customer), 'access_denied')
    expectProblem(await ask(`${gateway.url}/v1/models`, operator), 'access_denied')
  })

  test.each(['/livez', '/readyz', '/healthz'])('answer %s', async (path) => {
    for (const url of [gateway.url, gateway.adminUrl]) {
      expect(await ask(`${url}${path}`, undefined)).toMatchObject({ status: 200, body: { status: 'ok' } })
    }
  })

  test('name their own address in their OpenAPI document', async () => {
    const serversAt = async (url: string) => (await ask(url, undefined)).body['servers']
    expect(await serversAt(`${gateway.url}/openapi.json`)).toEqual([{ url: 'https://videos.example' }])
    expect(await serversAt(`${gateway.adminUrl}/admin/v1/openapi.json`)).toEqual([
      { url: 'http://127.0.0.1:8788' },
    ])
  })
})
