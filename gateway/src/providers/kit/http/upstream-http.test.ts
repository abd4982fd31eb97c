import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'

import { expect, test, vi } from 'vitest'

import { failureOf, listenForTest } from '../../../../test/kit/listen-for-test.ts'
import { createLog } from '../../../platform/log.ts'
import { startTracing } from '../../../platform/tracing/start-tracing.ts'
import { inTask } from '../../../platform/tracing/tracing.ts'
import { type Exchange, withExchanges } from '../../port/exchange.ts'
import { ResultTooLarge, resultBytesMax } from '../../port/failure.ts'
import { sendUntil } from '../../port/send-deadline.ts'
import { jsonBody, multipart } from './multipart.ts'
import type { Call } from './upstream-call.ts'
import { upstreamAt } from './upstream-http.ts'

const get = (changes: Partial<Call> = {}): Call => ({
  what: 'poll',
  method: 'GET',
  path: '/v1/videos/a',
  signal: AbortSignal.timeout(120_000),
  ...changes,
})
const post = (changes: Partial<Call> = {}): Call =>
  get({ what: 'submit', method: 'POST', body: multipart([{ name: 'prompt', value: 'a cat' }]), ...changes })

const exhaustedCaller = fileURLToPath(new URL('../../../../test/kit/exhausted-caller.ts', import.meta.url))

/** The reason of a timed out signal. */
const tooLate = () => new DOMException('too late', 'TimeoutError')

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
  expect(failure).toMatchObject({
    kind: 'not_delivered',
    message: 'submit failed: ECONNREFUSED',
    isLocal: false,
  })
})

test('a process without free file descriptors blames itself', async () => {
  await using server = await listenForTest((_request, response) => response.end('{}'))
  const child = fork(exhaustedCaller, [server.url])
  const exit = once(child, 'exit')
  const [failure] = (await once(child, 'message')) as unknown[]
  expect(failure).toEqual({ kind: 'not_delivered', message: 'submit failed: EMFILE', isLocal: true })
  await exit
})

test('a failed TLS handshake is certainly not delivered', async () => {
  await using server = await listenForTest((_request, response) => response.end())
  const upstream = upstreamAt({ baseUrl: server.url.replace('http:', 'https:') })
  expect(await failureOf(upstream.callJson(post()))).toMatchObject({ kind: 'not_delivered' })
})

test('an unknown host is certainly not delivered, and the message does not name it', async () => {
  const upstream = upstreamAt({ baseUrl: 'http://a..b.invalid' })
  const failure = await failureOf(upstream.callJson(post()))
  expect(failure).toMatchObject({ kind: 'not_delivered', message: expect.not.stringContaining('invalid') })
})

test('a call aborted while waiting for a connection is not delivered', async () => {
  const arrived = Promise.withResolvers<void>()
  await using server = await listenForTest(() => arrived.resolve())
  const upstream = upstreamAt({ baseUrl: server.url, connections: 1 })
  const patience = [new AbortController(), new AbortController()] as const
  const first = failureOf(upstream.callJson(post({ signal: patience[0].signal })))
  await arrived.promise
  const second = failureOf(upstream.callJson(post({ signal: patience[1].signal })))
  patience[1].abort(tooLate())
  expect(await second).toMatchObject({ kind: 'not_delivered', message: 'submit failed: TimeoutError' })
  patience[0].abort(tooLate())
  expect(await first).toMatchObject({ kind: 'unknown', message: 'submit failed: TimeoutError' })
  expect(await failureOf(upstream.callJson(post({ signal: AbortSignal.abort() })))).toMatchObject({
    kind: 'not_delivered',
  })
})

/** Blocks the event loop, so that timers are late and everything else goes on where it stopped. */
const standStillUntil = (atMs: number) =>
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Math.max(0, atMs - performance.now()))

test('a process that stood still while connecting does not send its request too late', async () => {
  let requests = 0
  await using server = await listenForTest((_request, response) => {
    requests += 1
    response.end('{}')
  })
  const upstream = upstreamAt({ baseUrl: server.url })
  const deadlineMs = performance.now() + 20
  const failure = await sendUntil(deadlineMs, async () => {
    const sent = failureOf(upstream.callJson(post({ freshConnection: true })))
    standStillUntil(deadlineMs)
    return sent
  })
  expect(failure).toMatchObject({ kind: 'not_delivered', message: 'submit failed: TimeoutError' })
  expect(requests).toBe(0)
})

test('a process that stood still while sending does not complete its request too late', async () => {
  let requests = 0
  await using server = await listenForTest((_request, response) => {
    requests += 1
    response.end('{}')
  })
  const upstream = upstreamAt({ baseUrl: server.url })
  const deadlineMs = performance.now() + 10_000
  const clock = vi.spyOn(performance, 'now')
  const open = async () => {
    clock.mockReturnValue(deadlineMs)
    return Readable.from([Buffer.from('abc')])
  }
  const body = multipart([{ name: 'input', filename: 'a.png', contentType: 'image/png', sizeBytes: 3, open }])
  const failure = await sendUntil(deadlineMs, () => failureOf(upstream.callJson(post({ body }))))
  clock.mockRestore()
  expect(failure).toMatchObject({ kind: 'unknown', message: 'submit failed: TimeoutError' })
  expect(requests).toBe(0)
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
  const image = { name: 'a', filename: 'a', contentType: 'image/png', sizeBytes: 400 * chunk.length, open }
  const upstream = upstreamAt({ baseUrl: `http://127.0.0.1:${port}` })
  expect(await failureOf(upstream.callJson(post({ body: multipart([image]) })))).toMatchObject({
    kind: 'unknown',
  })
  server.close()
})

test('an unreadable file of ours means that nothing was delivered', async () => {
  await using server = await listenForTest((_request, response) => response.end('{}'))
  const upstream = upstreamAt({ baseUrl: server.url })
  const open = () => Promise.reject(new Error('gone'))
  const body = multipart([{ name: 'input', filename: 'a.png', contentType: 'image/png', sizeBytes: 3, open }])
  const failure = await failureOf(upstream.callJson(post({ body })))
  expect(failure).toMatchObject({
    kind: 'not_delivered',
    message: 'submit failed: the file for "input" could not be read',
    isLocal: true,
  })
})

test('a response that breaks off, is not JSON or is too long is unknown', async () => {
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

test('an error status counts even if its body breaks off', async () => {
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

test('connections are reused, unless a call needs a new one', async () => {
  const ports: (number | undefined)[] = []
  await using server = await listenForTest((request, response) => {
    ports.push(request.socket.remotePort)
    response.end('\uFEFF{"ok":true}')
  })
  const upstream = upstreamAt({ baseUrl: `${server.url}/` })
  expect(await upstream.callJson(get())).toMatchObject({ status: 200, body: { ok: true } })
  for (let count = 0; count < 8; count += 1) await upstream.callJson(get())
  const reused = new Set(ports).size
  expect(reused).toBeLessThan(4)
  await upstream.callJson(post({ freshConnection: true }))
  await upstream.callJson(post({ freshConnection: true }))
  expect(new Set(ports).size).toBe(reused + 2)
})

test('redirects are followed without sending the credential to other origins', async () => {
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
  const upstream = upstreamAt({ baseUrl: server.url, apiKey: 'secret', resultOrigins: [storage.url] })
  const stream = await upstream.openStream(get({ path: '/v1/a' }))
  expect(Buffer.concat(await stream.toArray()).toString()).toBe('bytes')
  expect(seen).toEqual([
    'vendor /v1/a Bearer secret',
    'vendor /v1/b Bearer secret',
    'storage /c?sig=1 undefined',
  ])
})

test('a redirect back to the vendor does not restore the credential', async () => {
  const seen: (string | undefined)[] = []
  await using server = await listenForTest((request, response) => {
    seen.push(request.headers.authorization)
    if (request.url === '/back') response.end('bytes')
    else response.writeHead(302, { location: `${detour.url}/` }).end()
  })
  await using detour = await listenForTest((_request, response) => {
    response.writeHead(302, { location: `${server.url}/back` }).end()
  })
  const settings = { baseUrl: server.url, apiKey: 'secret', resultOrigins: [detour.url] }
  await (await upstreamAt(settings).openStream(get())).toArray()
  expect(seen).toEqual(['Bearer secret', undefined])
})

test.each([
  ['in circles', '/v1/videos/a', 4],
  ['to a file', 'file:///etc/passwd', 1],
  ['to nowhere', 'http://', 1],
  ['to the own machine', 'http://127.0.0.1:9/', 1],
  ['to the private network', 'http://192.168.0.1/', 1],
  ['to cloud metadata', 'http://169.254.169.254/latest/meta-data/', 1],
  ['to an internal name', 'http://postgres/', 1],
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

const download = (url: string) => ({ what: 'download', url, signal: AbortSignal.timeout(120_000) })

async function contentOf(opening: Promise<Readable>): Promise<string> {
  return Buffer.concat(await (await opening).toArray()).toString()
}

test('a credential is sent in the configured header, only to the vendor', async () => {
  const seen: unknown[] = []
  await using storage = await listenForTest((request, response) => {
    seen.push(['storage', request.url, request.headers['x-vendor-key'], request.headers.authorization])
    response.end('bytes')
  })
  await using server = await listenForTest((request, response) => {
    const { 'x-vendor-key': key, authorization, 'accept-encoding': encoding } = request.headers
    seen.push(['vendor', request.url, key, authorization, encoding])
    if (request.url === '/base/refused') response.writeHead(400).end('{"error":"no space for w0rd"}')
    else if (request.url === '/moved') response.writeHead(302, { location: `${storage.url}/b` }).end()
    else response.end('bytes')
  })
  const upstream = upstreamAt({
    baseUrl: `${server.url}/base`,
    credential: { 'x-vendor-key': 'Key w0rd' },
    resultOrigins: [storage.url],
  })
  for (const url of [`${server.url}/film?a=1`, '/film', `${server.url}/moved`, `${storage.url}/a?sig=1`]) {
    expect(await contentOf(upstream.openLink(download(url)))).toBe('bytes')
  }
  expect(seen).toEqual([
    ['vendor', '/film?a=1', 'Key w0rd', undefined, 'identity'],
    ['vendor', '/film', 'Key w0rd', undefined, 'identity'],
    ['vendor', '/moved', 'Key w0rd', undefined, 'identity'],
    ['storage', '/b', undefined, undefined],
    ['storage', '/a?sig=1', undefined, undefined],
  ])
  expect(await failureOf(upstream.callJson(get({ path: '/refused' })))).toMatchObject({
    message: 'poll answered 400: no space for [hidden]',
  })
})

test.each([
  'file:///etc/passwd',
  'data:video/mp4;base64,AAAA',
  'http://127.0.0.1:9/a',
  'http://[::1]:9/a',
  'http://169.254.169.254/latest/meta-data/',
  'http://2852039166/',
  'http://metadata/a',
  'http://',
])('a result at %s is not fetched', async (url) => {
  const upstream = upstreamAt({ baseUrl: 'http://vendor.invalid' })
  expect(await failureOf(upstream.openLink(download(url)))).toMatchObject({
    name: 'ProviderFailure',
    kind: 'unknown',
  })
})

test('a result over http from an https vendor needs a configured origin', async () => {
  await using storage = await listenForTest((_request, response) => response.end('bytes'))
  const baseUrl = 'https://vendor.invalid'
  const listed = upstreamAt({ baseUrl, resultOrigins: [storage.url] })
  expect(await contentOf(listed.openLink(download(`${storage.url}/a`)))).toBe('bytes')
  const unlisted = failureOf(upstreamAt({ baseUrl }).openLink(download('http://93.184.216.34/a')))
  expect(await unlisted).toMatchObject({ message: 'download was given a URL that is not allowed' })
})

test('a link that is gone is rejected, a temporary failure is unknown', async () => {
  await using storage = await listenForTest((request, response) => {
    const status = Number(request.url?.slice(1))
    if (status === 200) response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    else if (status === 206) response.writeHead(200, { 'content-encoding': 'gzip' }).end('zip')
    else response.writeHead(status).end()
  })
  const elsewhere = upstreamAt({ baseUrl: 'http://vendor.invalid', resultOrigins: [storage.url] })
  const atHome = upstreamAt({ baseUrl: storage.url })
  for (const upstream of [elsewhere, atHome]) {
    for (const [status, kind] of [
      [403, 'rejected'],
      [404, 'rejected'],
      [410, 'rejected'],
      [500, 'unknown'],
      [200, 'unknown'],
      [206, 'unknown'],
    ]) {
      const failure = await failureOf(upstream.openLink(download(`${storage.url}/${status}`)))
      expect(failure).toMatchObject({ name: 'ProviderFailure', kind })
    }
  }
})

test('a result above the size limit is refused by its announced length, before it is read', async () => {
  await using storage = await listenForTest((_request, response) => {
    response.writeHead(200, { 'content-length': resultBytesMax + 1 }).flushHeaders()
  })
  const elsewhere = upstreamAt({ baseUrl: 'http://vendor.invalid', resultOrigins: [storage.url] })
  const atHome = upstreamAt({ baseUrl: storage.url })
  for (const upstream of [elsewhere, atHome]) {
    expect(await failureOf(upstream.openLink(download(`${storage.url}/a`)))).toBeInstanceOf(ResultTooLarge)
  }
})

test('redirects of a link are counted across origins', async () => {
  let asked = 0
  await using storage = await listenForTest((_request, response) => {
    asked += 1
    response.writeHead(302, { location: '/again' }).end()
  })
  await using server = await listenForTest((request, response) => {
    asked += 1
    const location = request.url === '/a' ? '/b' : `${storage.url}/c`
    response.writeHead(302, { location }).end()
  })
  const upstream = upstreamAt({ baseUrl: server.url, resultOrigins: [storage.url] })
  const failure = await failureOf(upstream.openLink(download(`${server.url}/a`)))
  expect(failure).toMatchObject({ kind: 'unknown' })
  expect(asked).toBe(4)
})

test('a compressed response is a failure', async () => {
  await using server = await listenForTest((request, response) => {
    const status = request.url === '/refused' ? 400 : 200
    response.writeHead(status, { 'content-encoding': 'gzip' }).end('{"id":"a"}')
  })
  const upstream = upstreamAt({ baseUrl: server.url })
  expect(await failureOf(upstream.callJson(post()))).toMatchObject({ kind: 'unknown' })
  expect(await failureOf(upstream.openStream(get()))).toMatchObject({ kind: 'unknown' })
  expect(await failureOf(upstream.callJson(post({ path: '/refused' })))).toMatchObject({ kind: 'rejected' })
})

test('every exchange is recorded in redacted form', async () => {
  await using server = await listenForTest((request, response) => {
    if (request.url === '/api/cut') request.socket.destroy()
    else if (request.url === '/api/film') response.end('bytes of the film')
    else if (request.url === '/api/moved') response.writeHead(302, { location: '/api/film' }).end()
    else if (request.url === '/api/page') response.writeHead(502).end('<h1>Bad gateway</h1>')
    else {
      const mp4 = 'AAAAIGZ0eXBpc29tAAACAGlzb21pc28yYXZjMW1wNDE'
      response.end(
        JSON.stringify({
          ...{
            id: 'a',
            prompt: 'a secret cat',
            owner: 'anna@example.com',
            data: mp4,
            url: 'https://x.example/?k=1',
          },
          ...{ note: 'for tok-en-77 of acct_1a2b3c4d5e', more: 'long '.repeat(200) },
        }),
      )
    }
  })
  const upstream = upstreamAt({ baseUrl: `${server.url}/api`, apiKey: 'tok-en-77' })
  const exchanges: Exchange[] = []
  await withExchanges(
    (exchange) => exchanges.push(exchange),
    async () => {
      await upstream.callJson(post({ path: '/jobs?key=1' }))
      await failureOf(upstream.callJson(get({ path: '/cut' })))
      await failureOf(upstream.callJson(get({ path: '/page' })))
      await contentOf(upstream.openStream(get({ what: 'download', path: '/moved' })))
    },
  )
  const [first, ...others] = exchanges
  expect(first).toMatchObject({ what: 'submit', method: 'POST', path: '/jobs', status: 200 })
  expect(first?.answer).toMatch(
    /^\{"id":"a","prompt":"…","owner":"\[mail\]","data":"…","url":"\[url\]","note":"for \[hidden\] of \[account\]"/,
  )
  expect(first?.answer.length).toBeLessThan(510)
  const ms = expect.any(Number) as number
  expect(others).toEqual([
    { what: 'poll', method: 'GET', path: '/cut', status: undefined, ms, answer: 'UND_ERR_SOCKET' },
    { what: 'poll', method: 'GET', path: '/page', status: 502, ms, answer: '<h1>Bad gateway</h1>' },
    { what: 'download', method: 'GET', path: '/moved', status: 302, ms, answer: '' },
    { what: 'download', method: 'GET', path: '/film', status: 200, ms, answer: '' },
  ])
})

test('a streamed response to a body arrives with its headers, and is not redirected', async () => {
  let requests = 0
  await using server = await listenForTest((request, response, body) => {
    requests += 1
    if (request.url === '/moved') response.writeHead(307, { location: '/' }).end()
    else response.writeHead(200, { 'x-engine': 'loud' }).write(`got ${body.toString()}`)
  })
  const upstream = upstreamAt({ baseUrl: server.url })
  const speech = (path: string) => post({ path, body: jsonBody({ say: 'hello' }) })
  const { headers, bytes } = await upstream.openAnswer(speech('/'))
  expect(headers['x-engine']).toBe('loud')
  // The response never ends; its beginning is available.
  const [first] = (await once(bytes, 'data')) as [Buffer]
  expect(first.toString()).toBe('got {"say":"hello"}')
  bytes.destroy()
  expect(await failureOf(upstream.openAnswer(speech('/moved')))).toMatchObject({ kind: 'unknown' })
  expect(requests).toBe(2)
})

test('a long response is read if the call allows it', async () => {
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

test('the signal ends a running download, and destroying the stream closes the connection', async () => {
  let closed = 0
  await using server = await listenForTest((_request, response) => {
    response.on('close', () => (closed += 1))
    response.writeHead(200, { 'content-length': 100 }).write('half')
  })
  const upstream = upstreamAt({ baseUrl: server.url })
  const patience = new AbortController()
  const stream = await upstream.openStream(get({ signal: patience.signal }))
  patience.abort(tooLate())
  expect(await failureOf(stream.toArray())).toMatchObject({
    kind: 'unknown',
    message: 'poll broke off: TimeoutError',
  })
  const dropped = await upstream.openStream(get())
  dropped.destroy()
  await expect.poll(() => closed).toBe(2)
})

test('a large download has backpressure', async () => {
  const chunk = Buffer.alloc(1024 * 1024, 'x')
  await using server = await listenForTest((_request, response) => {
    Readable.from(Array.from({ length: 32 }, () => chunk)).pipe(response)
  })
  const stream = await upstreamAt({ baseUrl: server.url }).openStream(get())
  let readBytes = 0
  let mostWaitingBytes = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    readBytes += chunk.length
    // In each iteration of the event loop more could arrive than is read.
    for (let iteration = 0; iteration < 10; iteration += 1)
      await new Promise((resolve) => setImmediate(resolve))
    mostWaitingBytes = Math.max(mostWaitingBytes, stream.readableLength)
  }
  expect(mostWaitingBytes).toBeLessThan(1024 * 1024)
  expect(readBytes).toBe(32 * chunk.length)
})

test('a provider gets the trace of a call only if that is configured', async () => {
  const received: unknown[] = []
  await using server = await listenForTest((request, response) => {
    received.push(request.headers['traceparent'])
    response.end('{}')
  })
  await using collector = await listenForTest((_request, response) => response.end('{}'))
  const log = createLog({ level: 'silent' }, 'test')
  const task = { taskId: 'video_1', traceContext: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` }
  const stopTracing = await startTracing({ url: collector.url, role: 'worker', ratio: 0 }, log)
  try {
    for (const traceparent of [true, false, undefined]) {
      const upstream = upstreamAt({ baseUrl: server.url, traceparent })
      await inTask(task, () => upstream.callJson(get()))
    }
    await upstreamAt({ baseUrl: server.url, traceparent: true }).callJson(get())
  } finally {
    await stopTracing()
  }
  const [sent, ...others] = received
  expect(sent).toMatch(new RegExp(`^00-${'a'.repeat(32)}-[0-9a-f]{16}-01$`))
  expect(sent).not.toContain('b'.repeat(16))
  expect(others).toEqual([undefined, undefined, undefined])
})
