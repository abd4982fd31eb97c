/** Properties of every path. */
import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'

import { operations } from '@kinora/contract/operations'
import { responseHeaders } from '@kinora/contract/response-headers'
import { unsupportedOperations } from '@kinora/contract/unsupported'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { ask, askJson, askRaw, errorBodyOf, expectProblem } from '../kit/answers.ts'
import { createAccount, createKey, type TestKey } from '../kit/factories.ts'
import { startGateway, startProxy, type TestGateway } from '../kit/start-gateway.ts'

let gateway: TestGateway
let accountId: string
let key: TestKey

beforeAll(async () => {
  gateway = await startGateway()
  accountId = await createAccount(gateway.database.postgres)
  key = await createKey(gateway.database.postgres, accountId)
})
afterAll(() => gateway[Symbol.asyncDispose]())

const order = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480' }
const methodsByPath = Map.groupBy(Object.values(operations), ({ path }) => path)
const paths = [...methodsByPath].map(([path, found]): [string, string[]] => {
  const methods = found.map(({ method }) => method as string)
  return [path, [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS']]
})
const concrete = (path: string) => path.replace(/\{\w+\}/g, 'nonsense')

describe('404 endpoint_not_found', () => {
  test.each([
    '/v1',
    '/v1/',
    '/v2/videos',
    '/v1/nothing',
    '/v1/videos/a/b',
    '/V1/videos',
    '/videos',
    '/v1/characters',
    '/vidB/characters',
    '/vidB/v1',
    '/vidB/v1/videos',
    '//v1/videos',
    '/openai',
    '/openai/v1',
    '/admin',
    '/%2e%2e/etc/passwd',
  ])('%s, before authentication', async (path) => {
    for (const method of ['GET', 'POST', 'DELETE', 'PATCH']) {
      expectProblem(await ask(`${gateway.url}${path}`, undefined, { method }), 'endpoint_not_found')
    }
    expectProblem(await ask(`${gateway.url}${path}`, 'nonsense'), 'endpoint_not_found')
  })

  test.each(['/v1/videos/%', '/v1/videos/%zz', '/v1/videos/%E0%A4%A', '/%c0%af', '/media/%ff/x'])(
    'the path %s, which cannot be decoded',
    async (path) => {
      const text = await askRaw(gateway.url, `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
      expect(text).toMatch(/^HTTP\/1\.1 404 /)
      expect(text).toMatch(/\r\nx-request-id: req_[0-9a-f-]{36}\r\n/i)
      expect(text).toContain('"type":"invalid_request_error","code":"endpoint_not_found"')
    },
  )

  test.each([
    ['POST', '/v1/audio/voices', 'GET /v1/audio/voices'],
    ['POST', '/v1/audio/voice_consents', 'GET /v1/audio/voices'],
    ['POST', '/v1/videos/extensions', '/v1/videos/{id}/remix'],
    ['POST', '/v1/videos/characters', '/vidB/v1/characters'],
    ['GET', '/v1/videos/characters/nonsense', '/vidB/v1/characters/{id}'],
  ])('%s %s is not offered, and the message names the alternative', async (method, path, instead) => {
    for (const base of ['', '/openai']) {
      const answer = await ask(`${gateway.url}${base}${path}`, key.text, { method })
      expectProblem(answer, 'endpoint_not_found')
      expect(answer.body).toMatchObject({ error: { message: expect.stringContaining(instead) } })
      expect(answer.headers.get('allow')).toBeNull()
    }
    expectProblem(await ask(`${gateway.url}${path}/`, undefined, { method }), 'endpoint_not_found')
  })

  test.each([
    ['POST', '/responses', '/openai/v1/chat/completions'],
    ['GET', '/responses/resp_1?stream=true', 'openai.chat('],
    ['POST', '/images/generations', 'POST /openai/v1/videos'],
    ['GET', '/chat/completions/chatcmpl-1', 'are not kept'],
    ['DELETE', '/audio/voices/voice_1', 'Custom voices'],
  ])('%s %s is out of scope under /openai/v1, which the message explains', async (method, path, words) => {
    const answer = await ask(`${gateway.url}/openai/v1${path}`, undefined, { method })
    expectProblem(answer, 'endpoint_not_found')
    expect(answer.body).toMatchObject({ error: { message: expect.stringContaining(words) } })
    expect(answer.headers.get('x-should-retry')).toBe('false')
    // Elsewhere it is a path like any other.
    const elsewhere = await ask(`${gateway.url}/v1${path}`, undefined, { method })
    expect(elsewhere.body).toMatchObject({ error: { message: expect.not.stringContaining(words) } })
  })

  test('a path segment that is too long', async () => {
    expectProblem(await ask(`${gateway.url}/v1/videos/${'a'.repeat(2_000)}`, key.text), 'endpoint_not_found')
  })
})

describe('405 method_not_allowed', () => {
  test.each(paths)('%s accepts only its own methods and names them', async (path, methods) => {
    const explained = unsupportedOperations.filter((each) => each.path === path).map(({ method }) => method)
    const served = [...methods, ...explained]
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'].filter(
      (each) => !served.includes(each),
    )) {
      const answer = await ask(`${gateway.url}${concrete(path)}`, undefined, { method })
      if (method !== 'HEAD') expectProblem(answer, 'method_not_allowed')
      expect(answer.status).toBe(405)
      expect(answer.headers.get('allow')).toBe(methods.join(', '))
    }
  })
})

describe('400 invalid_request', () => {
  const call = (path: string, type: string, body: string) =>
    ask(`${gateway.url}${path}`, key.text, { method: 'POST', headers: { 'content-type': type }, body })

  test.each([
    ...['/v1/video/create', '/v1/videos/nonsense/remix', '/vidB/v1/characters'],
    ...['/v1/chat/completions', '/v1/audio/speech'],
  ])('%s accepts a JSON object and refuses other types', async (path) => {
    const body = JSON.stringify({ model: 'vidB-2', prompt: 'A whale' })
    for (const type of ['text/plain', 'application/xml', 'application/x-www-form-urlencoded'])
      expectProblem(await call(path, type, body), 'invalid_request')
    for (const malformed of ['', '{', '{"model":}', '[]', '"model"', 'null'])
      expectProblem(await call(path, 'application/json', malformed), 'invalid_request')
  })

  test.each(['/v1/videos', '/v1/audio/transcriptions', '/v1/audio/translations'])(
    '%s accepts a form and refuses other types and incomplete forms',
    async (path) => {
      for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'])
        expectProblem(await call(path, type, 'model=vidB-2'), 'invalid_request')
      const cut = '--x\r\nContent-Disposition: form-data; name="model"\r\n\r\nvidB'
      expectProblem(await call(path, 'multipart/form-data; boundary=x', cut), 'invalid_request')
    },
  )
})

describe('cross-origin requests', () => {
  const isOfConsole = (path: string) => path.startsWith('/console/')

  test.each(paths.filter(([path]) => isOfConsole(path)))(
    'a preflight of %s allows no other origin anything',
    async (path) => {
      const answer = await ask(`${gateway.url}${concrete(path)}`, undefined, {
        method: 'OPTIONS',
        headers: { 'access-control-request-method': 'POST', origin: 'https://other.example' },
      })
      expect(answer.status).toBe(204)
      expect([...answer.headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([])
    },
  )

  test.each(paths.filter(([path]) => !isOfConsole(path)))(
    'a preflight of %s is answered without a key',
    async (path, methods) => {
      const answer = await ask(`${gateway.url}${concrete(path)}`, undefined, {
        method: 'OPTIONS',
        headers: {
          'access-control-request-headers': 'authorization, x-custom',
          'access-control-request-method': 'POST',
        },
      })
      expect(answer.status).toBe(204)
      expect(answer.headers.get('access-control-allow-origin')).toBe('*')
      expect(answer.headers.get('access-control-allow-credentials')).toBeNull()
      expect(answer.headers.get('access-control-allow-methods')).toBe(methods.join(', '))
      expect(answer.headers.get('access-control-allow-headers')).toBe('authorization, x-custom')
      expect(answer.headers.get('x-request-id')).toMatch(/^req_/)
    },
  )

  test('a preflight of an unknown path is 404', async () => {
    expectProblem(
      await ask(`${gateway.url}/v1/nothing`, undefined, { method: 'OPTIONS' }),
      'endpoint_not_found',
    )
  })

  test('responses and errors are open to every origin and expose the headers that clients need', async () => {
    for (const answer of [
      await ask(`${gateway.url}/v1/models`, key.text),
      await ask(`${gateway.url}/v1/models`, undefined),
    ]) {
      expect(answer.headers.get('access-control-allow-origin')).toBe('*')
      const exposed = answer.headers.get('access-control-expose-headers')?.split(', ')
      expect(exposed).toEqual(Object.keys(responseHeaders))
      expect(exposed).toEqual(
        expect.arrayContaining([
          ...['x-request-id', 'x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'],
          ...['retry-after', 'retry-after-ms', 'x-should-retry', 'x-ignored-params'],
        ]),
      )
    }
  })
})

describe('the request id', () => {
  test('is in every response, is generated by the server, and is unique', async () => {
    const seen = new Set<string>()
    const places = [
      '/livez',
      '/readyz',
      '/healthz',
      '/openapi.json',
      '/v1/models',
      '/v1/nothing',
      '/media/a/b',
      '/v1/videos/%zz',
    ]
    for (const path of places) {
      const response = await fetch(`${gateway.url}${path}`, {
        headers: { 'x-request-id': 'mine', 'request-id': 'mine' },
      })
      await response.arrayBuffer()
      expect(response.headers.get('x-request-id')).toMatch(/^req_[0-9a-f-]{36}$/)
      seen.add(String(response.headers.get('x-request-id')))
    }
    expect(seen.size).toBe(places.length)
  })
})

describe('invalid HTTP', () => {
  const host = 'Host: x\r\n'
  test.each([
    ['nonsense', 'NONSENSE\r\n\r\n'],
    ['the start of an encrypted connection', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    ['a version that does not exist', `GET / HTTP/9.9\r\n${host}\r\n`],
    ['two lengths', `POST /v1/videos HTTP/1.1\r\n${host}Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}`],
    [
      'a length and chunks',
      `POST /v1/videos HTTP/1.1\r\n${host}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    ['a length that is no number', `POST /v1/videos HTTP/1.1\r\n${host}Content-Length: many\r\n\r\n`],
    ['a header with a space in its name', `GET /livez HTTP/1.1\r\n${host}bad name: x\r\n\r\n`],
    ['a zero byte in a header', `GET /livez HTTP/1.1\r\n${host}x: a\0b\r\n\r\n`],
    ['headers that are too large', `GET /livez HTTP/1.1\r\n${host}x: ${'a'.repeat(20_000)}\r\n\r\n`],
    ['an address that is too long', `GET /${'a'.repeat(20_000)} HTTP/1.1\r\n${host}\r\n`],
  ])('%s', async (_, bytes) => {
    const text = await askRaw(gateway.url, bytes)
    const [head = '', body = ''] = text.split('\r\n\r\n')
    expect(head).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/)
    expect(head).toMatch(/\r\nContent-Type: application\/json; charset=utf-8\r\n/)
    const [, requestId] = /\r\nX-Request-Id: (req_[0-9a-f-]{36})\r\n/.exec(head) ?? []
    expect(JSON.parse(body)).toEqual(errorBodyOf('invalid_request', { request_id: requestId }))
  })

  test('a request without a host is refused', async () => {
    expect(await askRaw(gateway.url, 'GET /livez HTTP/1.1\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /)
  })

  test.each(['/livez', '/v1/models', '/v1/nothing', '/v1/videos/%zz'])(
    '%s with two hosts is refused, equal or not',
    async (path) => {
      for (const second of ['x', 'y']) {
        const head = `GET ${path} HTTP/1.1\r\nHost: x\r\nhOST: ${second}\r\nConnection: close\r\n\r\n`
        const text = await askRaw(gateway.url, head)
        expect(text).toMatch(/^HTTP\/1\.1 400 /)
        expect(text).toContain('"code":"invalid_request"')
        expect(text).toContain('more than one Host header')
      }
    },
  )
})

describe('health', () => {
  test.each(['/livez', '/readyz', '/healthz'])('%s returns ok without a key', async (path) => {
    const answer = await ask(`${gateway.url}${path}`, undefined)
    expect(answer.status).toBe(200)
    expect(answer.body['status']).toBe('ok')
  })

  test('readiness names the version', async () => {
    const text = await readFile(new URL('../../package.json', import.meta.url), 'utf8')
    const { version } = JSON.parse(text) as { version: string }
    expect((await ask(`${gateway.url}/readyz`, undefined)).body).toEqual({ status: 'ok', version })
  })

  test('a missing migration makes a gateway unready but leaves it alive', async () => {
    const { postgres } = gateway.database
    const { rows } = await postgres.query<{ name: string }>(
      'delete from migrations where name = (select max(name) from migrations) returning name',
    )
    const missing = rows[0]?.name
    try {
      const answer = await ask(`${gateway.url}/readyz`, undefined)
      expectProblem(answer, 'service_unavailable')
      expect(answer.body['error']).toHaveProperty(
        'message',
        `Not ready: the database lacks the migration ${missing}; run \`kinora migrate\`.`,
      )
      expect(answer.headers.get('retry-after')).toBe('1')
      expect((await ask(`${gateway.url}/livez`, undefined)).status).toBe(200)
    } finally {
      await postgres.query('insert into migrations (name) values ($1)', [missing])
    }
    expect((await ask(`${gateway.url}/readyz`, undefined)).status).toBe(200)
  })
})

describe('500 internal_error', () => {
  test('reveals no internal details', async () => {
    await using broken = await startGateway()
    const { postgres } = broken.database
    const owner = await createKey(postgres, await createAccount(postgres))
    await postgres.query('drop table media cascade')
    const id = 'vidB-2:1700000000-00aaaaaaaaaaaa'
    const answer = await ask(`${broken.url}/v1/videos/${id}`, owner.text)
    expectProblem(answer, 'internal_error')
    expect(answer.body['error']).toHaveProperty('message', 'An internal error occurred. Nothing was charged.')
    expect(JSON.stringify(answer.body)).not.toMatch(/relation|media|select|\.ts|at /)

    // Nothing was charged: an order with an image needs that table in its transaction.
    await postgres.query('drop table task_events')
    expectProblem(await askJson(`${broken.url}/v1/videos`, owner.text, order), 'internal_error')
    const { rows } = await postgres.query<Record<string, unknown>>('select held_micros from balances')
    expect(rows).toEqual([{ held_micros: 0 }])
    const held = await postgres.query(`select 1 from ledger_entries where movement = 'hold'`)
    expect(held.rows).toEqual([])
  })
})

describe('503 service_unavailable', () => {
  test('while the database is unreachable, with Retry-After; it works again once the database does', async () => {
    await using proxy = await startProxy(gateway.database.url)
    await using behind = await startGateway({ DATABASE_URL: proxy.url }, gateway)
    expect((await askJson(`${behind.url}/v1/videos`, key.text, order)).status).toBe(200)
    await proxy.cut()
    const answers = [
      await askJson(`${behind.url}/v1/videos`, key.text, order),
      await ask(`${behind.url}/v1/videos/vidB-2:1700000000-00aaaaaaaaaaaa`, key.text),
      await ask(`${behind.url}/v1/models`, (await createKey(gateway.database.postgres, accountId)).text),
      await ask(`${behind.url}/readyz`, undefined),
    ]
    for (const answer of answers) {
      expectProblem(answer, 'service_unavailable')
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    }
    expect((await ask(`${behind.url}/livez`, undefined)).status).toBe(200)
    await proxy.mend()
    expect((await ask(`${behind.url}/readyz`, undefined)).status).toBe(200)
    expect((await askJson(`${behind.url}/v1/videos`, key.text, order)).status).toBe(200)
  })
})

describe('graceful shutdown', () => {
  test('a request under way is finished and new connections are refused before the server closes', async () => {
    const closing = await startGateway({}, gateway)
    const { hostname, port } = new URL(closing.url)
    const body = JSON.stringify(order)
    const socket = connect({ host: hostname, port: Number(port) })
    let text = ''
    const ended = new Promise((resolve) => {
      socket.setEncoding('utf8').on('data', (chunk) => {
        text += String(chunk)
      })
      socket.on('close', resolve)
    })
    socket.write(
      `POST /v1/videos HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key.text}\r\nContent-Type: application/json\r\n` +
        `Content-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`,
    )
    // A request whose body is being read has been accepted.
    await expect.poll(() => text).toContain('100 Continue')
    socket.write(body.slice(0, 10))
    const closed = closing[Symbol.asyncDispose]()
    const refuses = async () => {
      try {
        await fetch(`${closing.url}/livez`)
        return false
      } catch {
        return true
      }
    }
    await expect.poll(refuses).toBe(true)
    socket.write(body.slice(10))
    await ended
    await closed
    expect(text).toContain('HTTP/1.1 200 OK')
    expect(text).toMatch(/"status":"pending"/)
  })

  test('a closing gateway first fails readiness, still serves requests, and makes clients reconnect', async () => {
    const closing = await startGateway({ LAME_DUCK_SECONDS: '2' }, gateway)
    const closed = closing[Symbol.asyncDispose]()
    const answer = await ask(`${closing.url}/v1/models`, key.text)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('connection')).toBe('close')
    expectProblem(await ask(`${closing.url}/readyz`, undefined), 'service_unavailable')
    await closed
    await expect(fetch(`${closing.url}/livez`)).rejects.toThrow()
  })
})

describe('the hosts that the API answers for', () => {
  const askAs = async (url: string, host: string | undefined, target = '/v1/models') => {
    const hostLine = host === undefined ? '' : `Host: ${host}\r\n`
    const version = host === undefined ? '1.0' : '1.1'
    const text = await askRaw(url, `GET ${target} HTTP/${version}\r\n${hostLine}Connection: close\r\n\r\n`)
    return { status: Number(text.split(' ', 2)[1]), text }
  }

  test('421 for another host, on every path but the health checks', async () => {
    await using server = await startGateway({
      ALLOWED_HOSTS: 'localhost,127.0.0.1,[::1]',
      PUBLIC_URL: 'https://media.example/api',
    })
    for (const host of ['localhost', '127.0.0.1:8787', '[::1]:8787', 'media.example']) {
      expect((await askAs(server.url, host)).status).toBe(401)
    }
    for (const host of ['evil.example', 'evil.example:8787', 'localhost.evil.example', '', undefined]) {
      for (const target of [
        '/v1/models',
        '/admin/v1/accounts',
        '/webhooks/a/b',
        '/openapi.json',
        '/nowhere',
        '/%',
      ]) {
        const { status, text } = await askAs(server.url, host, target)
        expect([host, target, status]).toEqual([host, target, 421])
        expect(text).toContain('"code":"host_not_allowed"')
        expect(text).toContain('ALLOWED_HOSTS')
      }
      expect((await askAs(server.url, host, '/livez')).status).toBe(200)
    }
    const preflight = 'OPTIONS /v1/videos HTTP/1.1\r\nHost: evil.example\r\nOrigin: http://evil.example\r\n'
    expect(await askRaw(server.url, `${preflight}Connection: close\r\n\r\n`)).toMatch(/^HTTP\/1\.1 421 /)
  })

  test('by default every host, because a proxy may send any', async () => {
    await using server = await startGateway()
    expect((await askAs(server.url, 'anything.example')).status).toBe(401)
  })
})
