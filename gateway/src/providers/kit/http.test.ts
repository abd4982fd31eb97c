import { once } from 'node:events'
import { createServer } from 'node:net'
import { Readable } from 'node:stream'

import { expect, test } from 'vitest'

import { type Call, upstreamAt } from './http.ts'
import { failureOf, listenForTest } from './listen-for-test.ts'
import { jsonBody, multipart } from './multipart.ts'

const get = (changes: Partial<Call> = {}): Call => ({
  what: 'check',
  method: 'GET',
  path: '/v1/videos/a',
  signal: AbortSignal.timeout(2000),
  ...changes,
})
const post = (changes: Partial<Call> = {}): Call =>
  get({ what: 'submit', method: 'POST', body: multipart([{ name: 'prompt', value: 'a cat' }]), ...changes })

async function closedPort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' && address !== null ? address.port : 0
}

test('a refused connection is certainly not delivered', async () => {
  const upstream = upstreamAt({ baseUrl: `http://127.0.0.1:${await closedPort()}` })
  const failure = await failureOf(upstream.callJson(post()))
  expect(failure).toMatchObject({ kind: 'not_delivered', message: 'submit failed: ECONNREFUSED' })
})

test('a failed TLS handshake is certainly not delivered', async () => {
  await using server = await listenForTest((_request, response) => response.end())
  const upstream = upstreamAt({ baseUrl: server.url.replace('http:', 'https:') })
  expect(await failureOf(upstream.callJson(post()))).toMatchObject({ kind: 'not_delivered' })
})

test('an unknown host is certainly not delivered, and is not named', async () => {
  const upstream = upstreamAt({ baseUrl: 'http://a..b.invalid' })
  const failure = await failureOf(upstream.callJson(post()))
  expect(failure).toMatchObject({ kind: 'not_delivered', message: expect.not.stringContaining('invalid') })
})

test('a call that gives up while waiting for a connection was not delivered', async () => {
  await using server = await listenForTest(() => {})
  const upstream = upstreamAt({ baseUrl: server.url, connections: 1 })
  const first = failureOf(upstream.callJson(post({ signal: AbortSignal.timeout(120) })))
  const second = failureOf(upstream.callJson(post({ signal: AbortSignal.timeout(40) })))
  expect(await second).toMatchObject({ kind: 'not_delivered', message: 'submit failed: TimeoutError' })
  expect(await first).toMatchObject({ kind: 'unknown', message: 'submit failed: TimeoutError' })
  expect(await failureOf(upstream.callJson(post({ signal: AbortSignal.abort() })))).toMatchObject({
    kind: 'not_delivered',
  })
})

test('a connection cut after sending leaves the outcome unknown', async () => {
  await using server = await listenForTest((request) => request.socket.destroy())
  const upstream = upstreamAt({ baseUrl: server.url })
  expect(await failureOf(upstream.callJson(post()))).toMatchObject({ kind: 'unknown' })
})

test('a connection cut while a large body is being sent leaves the outcome unknown', async () => {
  const server = createServer((socket) => socket.once('data', () => socket.destroy()))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const chunk = Buffer.alloc(64 * 1024)
  const open = async () => Readable.from(Array.from({ length: 400 }, () => chunk))
  const picture = { name: 'a', filename: 'a', contentType: 'image/png', sizeBytes: 400 * chunk.length, open }
  const upstream = upstreamAt({ baseUrl: `http://127.0.0.1:${port}` })
  expect(await failureOf(upstream.callJson(post({ body: multipart([picture]) })))).toMatchObject({
    kind: 'unknown',
  })
  server.close()
})

test('a file of ours that cannot be read means that nothing was delivered', async () => {
  await using server = await listenForTest((_request, response) => response.end('{}'))
  const upstream = upstreamAt({ baseUrl: server.url })
  const open = () => Promise.reject(new Error('gone'))
  const body = multipart([{ name: 'input', filename: 'a.png', contentType: 'image/png', sizeBytes: 3, open }])
  const failure = await failureOf(upstream.callJson(post({ body })))
  expect(failure).toMatchObject({
    kind: 'not_delivered',
    message: 'submit failed: the file for "input" could not be read',
  })
})

test('an answer that breaks off, is not JSON or never ends is unknown', async () => {
  await using server = await listenForTest((request, response) => {
    if (request.url === '/cut') {
      response.writeHead(200, { 'content-length': 100 })
      response.write('{"id":', () => response.destroy())
    } else if (request.url === '/long') response.end(`"${'x'.repeat(1024 * 1024)}"`)
    else response.end('<html>')
  })
  const upstream = upstreamAt({ baseUrl: server.url })
  for (const path of ['/cut', '/long', '/html']) {
    expect(await failureOf(upstream.callJson(post({ path })))).toMatchObject({ kind: 'unknown' })
  }
})

test('an error status counts even when its body breaks off', async () => {
  await using server = await listenForTest((_request, response) => {
    response.writeHead(422, { 'content-length': 100 })
    response.write('{"error":', () => response.destroy())
  })
  const upstream = upstreamAt({ baseUrl: server.url })
  expect(await failureOf(upstream.callJson(post()))).toMatchObject({
    kind: 'rejected',
    code: 'upstream_error',
  })
})

test('connections are kept, unless a call asks for one of its own', async () => {
  const ports: (number | undefined)[] = []
  await using server = await listenForTest((request, response) => {
    ports.push(request.socket.remotePort)
    response.end('\uFEFF{"ok":true}')
  })
  const upstream = upstreamAt({ baseUrl: `${server.url}/` })
  expect(await upstream.callJson(get())).toMatchObject({ status: 200, body: { ok: true } })
  for (let count = 0; count < 8; count += 1) await upstream.callJson(get())
  const kept = new Set(ports).size
  expect(kept).toBeLessThan(4)
  await upstream.callJson(post({ freshConnection: true }))
  await upstream.callJson(post({ freshConnection: true }))
  expect(new Set(ports).size).toBe(kept + 2)
})

test('redirects are followed, and the credential stays at home', async () => {
  const seen: string[] = []
  await using storage = await listenForTest((request, response) => {
    seen.push(`storage ${request.url} ${request.headers.authorization}`)
    response.end('bytes')
  })
  await using server = await listenForTest((request, response) => {
    seen.push(`vendor ${request.url} ${request.headers.authorization}`)
    const location = request.url === '/v1/a' ? '/v1/b' : `${storage.url}/c?sig=1`
    response.writeHead(302, { location }).end()
  })
  const upstream = upstreamAt({ baseUrl: server.url, apiKey: 'secret' })
  const stream = await upstream.openStream(get({ path: '/v1/a' }))
  expect(Buffer.concat(await stream.toArray()).toString()).toBe('bytes')
  expect(seen).toEqual([
    'vendor /v1/a Bearer secret',
    'vendor /v1/b Bearer secret',
    'storage /c?sig=1 undefined',
  ])
})

test('a credential once dropped is not taken up again', async () => {
  const seen: (string | undefined)[] = []
  await using server = await listenForTest((request, response) => {
    seen.push(request.headers.authorization)
    if (request.url === '/back') response.end('bytes')
    else response.writeHead(302, { location: `${detour.url}/` }).end()
  })
  await using detour = await listenForTest((_request, response) => {
    response.writeHead(302, { location: `${server.url}/back` }).end()
  })
  await (await upstreamAt({ baseUrl: server.url, apiKey: 'secret' }).openStream(get())).toArray()
  expect(seen).toEqual(['Bearer secret', undefined])
})

test.each([
  ['in circles', '/v1/videos/a', 4],
  ['to a file', 'file:///etc/passwd', 1],
  ['to nowhere', 'http://', 1],
])('a redirect %s is not followed', async (_where, location, requests) => {
  let count = 0
  await using server = await listenForTest((_request, response) => {
    count += 1
    response.writeHead(307, { location }).end()
  })
  const upstream = upstreamAt({ baseUrl: server.url })
  expect(await failureOf(upstream.openStream(get()))).toMatchObject({ kind: 'unknown' })
  expect(count).toBe(requests)
})

test('an answer to a body comes as it is made, with its headers, and is not asked for anew elsewhere', async () => {
  let went = 0
  await using server = await listenForTest((request, response, body) => {
    went += 1
    if (request.url === '/moved') response.writeHead(307, { location: '/' }).end()
    else response.writeHead(200, { 'x-engine': 'loud' }).write(`heard ${body.toString()}`)
  })
  const upstream = upstreamAt({ baseUrl: server.url })
  const said = (path: string) => post({ path, body: jsonBody({ say: 'hello' }) })
  const { headers, bytes } = await upstream.openAnswer(said('/'))
  expect(headers['x-engine']).toBe('loud')
  // The answer has no end; its beginning is here all the same.
  const [first] = (await once(bytes, 'data')) as [Buffer]
  expect(first.toString()).toBe('heard {"say":"hello"}')
  bytes.destroy()
  expect(await failureOf(upstream.openAnswer(said('/moved')))).toMatchObject({ kind: 'unknown' })
  expect(went).toBe(2)
})

test('a long answer is read where the call expects one', async () => {
  await using server = await listenForTest((_request, response) => {
    response.end(`"${'x'.repeat(2 * 1024 * 1024)}"`)
  })
  const upstream = upstreamAt({ baseUrl: server.url })
  expect(await failureOf(upstream.callJson(get()))).toMatchObject({ kind: 'unknown' })
  const { body } = await upstream.callJson(get({ answerBytesMax: 3 * 1024 * 1024 }))
  expect(body).toHaveLength(2 * 1024 * 1024)
})

test('a download that breaks off, or answers with JSON, is a failure', async () => {
  await using server = await listenForTest((request, response) => {
    if (request.url === '/json') {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
      return
    }
    response.writeHead(200, { 'content-length': 100 })
    response.write('half', () => response.destroy())
  })
  const upstream = upstreamAt({ baseUrl: server.url })
  expect(await failureOf(upstream.openStream(get({ path: '/json' })))).toMatchObject({ kind: 'unknown' })
  const stream = await upstream.openStream(get({ path: '/cut' }))
  expect(await failureOf(stream.toArray())).toMatchObject({ name: 'ProviderFailure', kind: 'unknown' })
})

test('the signal ends a download that is under way, and dropping the stream closes the connection', async () => {
  let closed = 0
  await using server = await listenForTest((_request, response) => {
    response.on('close', () => (closed += 1))
    response.writeHead(200, { 'content-length': 100 }).write('half')
  })
  const upstream = upstreamAt({ baseUrl: server.url })
  const stream = await upstream.openStream(get({ signal: AbortSignal.timeout(60) }))
  expect(await failureOf(stream.toArray())).toMatchObject({
    kind: 'unknown',
    message: 'check broke off: TimeoutError',
  })
  const dropped = await upstream.openStream(get())
  dropped.destroy()
  await expect.poll(() => closed).toBe(2)
})

test('a large download waits for its reader', async () => {
  const chunk = Buffer.alloc(1024 * 1024, 'x')
  await using server = await listenForTest((_request, response) => {
    Readable.from(Array.from({ length: 32 }, () => chunk)).pipe(response)
  })
  const stream = await upstreamAt({ baseUrl: server.url }).openStream(get())
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(stream.readableLength).toBeLessThan(1024 * 1024)
  let readBytes = 0
  for await (const piece of stream as AsyncIterable<Buffer>) readBytes += piece.length
  expect(readBytes).toBe(32 * chunk.length)
})
