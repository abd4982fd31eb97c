/** When a request is sent again, and when not. */
import { expect, test } from 'vitest'

import { Kinora, KinoraError } from './index.ts'

interface Sent {
  method: string
  url: string
  headers: Headers
  redirect: RequestInit['redirect']
}

/** A client whose requests get these responses in turn; a text is a failure of the connection. */
const clientWith = (...responses: (Response | string)[]) => {
  const sent: Sent[] = []
  const kinora = new Kinora({
    baseUrl: 'https://media.example/openai/v1/',
    apiKey: 'sk-test',
    fetch: async (url, { method = 'GET', headers, redirect }) => {
      sent.push({ method, url, headers: new Headers(headers), redirect })
      const response = responses.shift()
      if (response instanceof Response) return response
      throw new TypeError(response ?? 'no further response')
    },
  })
  return { kinora, sent }
}

const json = (body: unknown, init: ResponseInit = {}) => Response.json(body, init)
const failure = (status: number, headers: Record<string, string> = {}, code = 'internal_error') =>
  json({ error: { code, message: 'It failed.' } }, { status, headers })
const soon = { 'retry-after-ms': '1' }
const order = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '1280x720' } as const

test('a create is repeated with its key after a lost connection, 429, 5xx and a first request in progress', async () => {
  const { kinora, sent } = clientWith(
    failure(429, soon, 'rate_limit_exceeded'),
    failure(500, soon),
    failure(409, soon, 'request_in_progress'),
    'socket hang up',
    json({ id: 'video_1' }),
  )
  expect(await kinora.videos.create(order)).toEqual({ id: 'video_1' })
  expect(sent).toHaveLength(5)
  expect(sent[0]).toMatchObject({ method: 'POST', url: 'https://media.example/v1/videos' })
  const keys = new Set(sent.map(({ headers }) => headers.get('idempotency-key')))
  expect([...keys]).toEqual([expect.stringMatching(/^[\w-]{36}$/)])
})

test('a key in headers of the caller is the only one, however the name is written', async () => {
  const { kinora, sent } = clientWith(json({ id: 'video_1' }))
  await kinora.videos.create(order, { headers: { 'Idempotency-Key': 'order-4711' } })
  expect(sent[0]?.headers.get('idempotency-key')).toBe('order-4711')
})

test.for([301, 302, 307, 308])(
  'a create that is redirected with %d is not sent elsewhere',
  async (status) => {
    const location = 'https://elsewhere.example/v1/videos'
    const { kinora, sent } = clientWith(new Response(null, { status, headers: { location } }))
    await expect(kinora.videos.create(order)).rejects.toThrow(location)
    expect(sent).toMatchObject([{ redirect: 'manual' }])
  },
)

test.for(['..', '.', '', undefined])('the id %j does not lead to another path', (id) => {
  const { kinora, sent } = clientWith()
  expect(() => kinora.videos.delete(id as string)).toThrow(/must be the id/)
  expect(sent).toEqual([])
})

test('a wait without an end is not a retry at once', async () => {
  const { kinora, sent } = clientWith(failure(503, { 'retry-after': '99999999' }))
  const stop = new AbortController()
  const watched = kinora.videos.watch('video_1', { signal: stop.signal })
  await expect.poll(() => sent.length).toBe(1)
  await new Promise((resolve) => setImmediate(resolve))
  stop.abort(new Error('enough'))
  await expect(watched).rejects.toThrow('enough')
  expect(sent).toHaveLength(1)
})

test('a caller can give the key', async () => {
  const { kinora, sent } = clientWith(json({ id: 'video_1' }))
  await kinora.videos.create(order, { idempotencyKey: 'order-4711' })
  expect(sent[0]?.headers.get('idempotency-key')).toBe('order-4711')
})

test.for([
  ['x-should-retry is false', failure(503, { ...soon, 'x-should-retry': 'false' })],
  ['the request is wrong', failure(400, {}, 'invalid_parameter')],
  ['the balance is too low', failure(402, {}, 'insufficient_balance')],
  ['the state conflicts', failure(409, {}, 'conflict')],
] as const)('a create is not repeated if %s', async ([, response]) => {
  const { kinora, sent } = clientWith(response)
  await expect(kinora.videos.create(order)).rejects.toThrow(KinoraError)
  expect(sent).toHaveLength(1)
})

test('a long wait is left to the caller', async () => {
  const { kinora, sent } = clientWith(failure(429, { 'retry-after': '120' }, 'rate_limit_exceeded'))
  await expect(kinora.videos.list()).rejects.toMatchObject({ status: 429, retryAfter: 120 })
  expect(sent).toHaveLength(1)
})

test('a POST that creates something without a key is repeated only if the service did nothing', async () => {
  const lost = clientWith('socket hang up')
  await expect(lost.kinora.keys.create({ name: 'second' })).rejects.toMatchObject({
    code: 'connection_failed',
  })
  expect(lost.sent).toHaveLength(1)
  const unconfirmed = clientWith(failure(503, { ...soon, 'x-should-retry': 'true' }))
  await expect(unconfirmed.kinora.keys.create({ name: 'second' })).rejects.toMatchObject({ status: 503 })
  expect(unconfirmed.sent).toHaveLength(1)
  const limited = clientWith(failure(429, soon), json({ key: {}, secret: 'sk-new' }))
  expect(await limited.kinora.keys.create({ name: 'second' })).toMatchObject({ secret: 'sk-new' })
})

test('a response that is not JSON is an error with its status', async () => {
  const { kinora } = clientWith(new Response('<html>Bad gateway</html>', { status: 404 }))
  await expect(kinora.videos.get('video_1')).rejects.toMatchObject({ code: 'invalid_response', status: 404 })
})

test('an abort ends a wait at once', async () => {
  const { kinora } = clientWith(failure(503, { 'retry-after': '59' }))
  const stop = new AbortController()
  const listed = kinora.videos.list({}, { signal: stop.signal })
  const reason = new Error('enough')
  stop.abort(reason)
  await expect(listed).rejects.toBe(reason)
})
