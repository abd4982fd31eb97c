/** The rules of a path apply to every spelling of it that the router accepts. Other spellings are unknown paths. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { askRaw, randomAddress } from '../kit/answers.ts'
import { createAccount, createKey } from '../kit/factories.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'

let gateway: TestGateway
let operator: string
let customer: string

beforeAll(async () => {
  gateway = await startGateway({ TRUSTED_PROXIES: '127.0.0.1' })
  const { postgres } = gateway.database
  const accountId = await createAccount(postgres)
  customer = (await createKey(postgres, accountId)).text
  operator = (await createKey(postgres, accountId, { kind: 'admin' })).text
})
afterAll(() => gateway[Symbol.asyncDispose]())

interface RawAnswer {
  status: number
  headers: Map<string, string>
}

/** Sends the target as it is; `fetch` would normalise it. */
const send = async (
  method: string,
  target: string,
  { url = gateway.url, headers = {} }: { url?: string; headers?: Record<string, string> } = {},
): Promise<RawAnswer> => {
  const lines = Object.entries({
    host: 'x',
    connection: 'close',
    origin: 'https://elsewhere.example',
    ...headers,
  })
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  const [answer = ''] = (await askRaw(url, `${method} ${target} HTTP/1.1\r\n${head}\r\n`)).split(
    '\r\n\r\n',
    1,
  )
  const [status = '', ...fields] = answer.split('\r\n')
  return {
    status: Number(status.split(' ')[1]),
    headers: new Map(
      fields.map((field) => [
        field.slice(0, field.indexOf(':')).toLowerCase(),
        field.slice(field.indexOf(':') + 1).trim(),
      ]),
    ),
  }
}
const corsHeaders = ({ headers }: RawAnswer) =>
  [...headers.keys()].filter((name) => name.startsWith('access-control-'))

const sameAs = (path: string): string[] => [
  path,
  `${path}/`,
  `${path}?x=/v1/models`,
  `${path}#/v1/models`,
  path.replace(/[a-z]/, (letter) => `%${letter.charCodeAt(0).toString(16)}`),
  path.replace(/[a-z]/g, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`),
  `http://x${path}`,
  `HTTPS://elsewhere.example:1${path}`,
]

const unlike = (path: string): string[] => [
  `/${path}`,
  path.replaceAll('/', '//'),
  path.toUpperCase(),
  path.replace('a', 'A'),
  `/v1/..${path}`,
  `/v1/%2e%2e${path}`,
  `/openai/v1/..${path}`,
  `/openai/v1/../..${path}`,
  `/openai${path}`,
  `/.${path}`,
  `/${path.slice(1).replaceAll('/', '%2F')}`,
  `/${path.slice(1).replaceAll('/', '\\')}`,
  path.replace('a', '%2561'),
  `${path};x`,
  `${path}%00`,
  `${path}%3fx`,
]

describe('/admin', () => {
  test.each(sameAs('/admin/v1/accounts'))('%s is an admin path', async (target) => {
    const headers = { authorization: `Bearer ${operator}` }
    const answer = await send('GET', target, { headers })
    // The list has no such filter.
    expect(answer.status).toBe(/[?#]/.test(target) ? 400 : 200)
    expect(corsHeaders(answer)).toEqual([])
    expect(corsHeaders(await send('GET', target))).toEqual([])

    const preflight = await send('OPTIONS', target, {
      headers: { 'access-control-request-method': 'POST' },
    })
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('allow')).toBe('POST, GET, HEAD, OPTIONS')
    expect(corsHeaders(preflight)).toEqual([])

    const refused = await send('DELETE', target, { headers })
    expect(refused.status).toBe(405)
    expect(refused.headers.get('allow')).toBe('POST, GET, HEAD, OPTIONS')
    expect(corsHeaders(refused)).toEqual([])
  })

  test.each(sameAs('/admin/v1/nothing'))(
    '%s is an unknown path without permission for other origins',
    async (target) => {
      for (const method of ['GET', 'POST', 'OPTIONS']) {
        const answer = await send(method, target)
        expect(answer.status).toBe(404)
        expect(corsHeaders(answer)).toEqual([])
      }
    },
  )

  test.each(unlike('/admin/v1/accounts'))('%s is unknown', async (target) => {
    for (const method of ['GET', 'POST', 'OPTIONS', 'DELETE']) {
      const answer = await send(method, target, { headers: { authorization: `Bearer ${operator}` } })
      expect(answer.status).toBe(404)
      expect(answer.headers.get('allow')).toBeUndefined()
    }
  })
})

describe('a path of customers', () => {
  test.each(sameAs('/v1/models'))('%s is open to every origin', async (target) => {
    const answer = await send('GET', target, { headers: { authorization: `Bearer ${customer}` } })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('access-control-allow-origin')).toBe('*')
    const preflight = await send('OPTIONS', target)
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('access-control-allow-methods')).toBe('GET, HEAD, OPTIONS')
    expect((await send('DELETE', target)).headers.get('allow')).toBe('GET, HEAD, OPTIONS')
  })
})

test.each(sameAs('/webhooks/vendor/nothing'))('%s gives no permission to other origins', async (target) => {
  for (const method of ['POST', 'GET', 'OPTIONS']) expect(corsHeaders(await send(method, target))).toEqual([])
})

describe('the rate limit of an address', () => {
  const limited = (target: string, url: string, method = 'GET') => {
    const headers = { 'x-forwarded-for': randomAddress() }
    return async (times: number) => {
      const statuses: number[] = []
      for (let count = 0; count < times; count += 1)
        statuses.push((await send(method, target, { url, headers })).status)
      return { statuses, headers }
    }
  }

  test('counts an admin path for operators, however it is spelled', async () => {
    await using bounded = await startGateway(
      { TRUSTED_PROXIES: '127.0.0.1', LIMIT_ADDRESS_PER_3_MINUTES: '2' },
      gateway,
    )
    for (const target of sameAs('/admin/v1/accounts')) {
      const { statuses, headers } = await limited(target, bounded.url)(3)
      expect(statuses).toEqual([401, 401, 429])
      expect((await send('GET', '/v1/models', { url: bounded.url, headers })).status).toBe(401)
    }
  })

  test('counts health checks only if they are answered as such', async () => {
    await using bounded = await startGateway(
      { TRUSTED_PROXIES: '127.0.0.1', LIMIT_ADDRESS_PER_3_MINUTES: '2' },
      gateway,
    )
    expect((await limited('/livez', bounded.url)(3)).statuses).toEqual([200, 200, 200])
    expect((await limited('/livez', bounded.url, 'POST')(3)).statuses).toEqual([404, 404, 429])
  })
})
