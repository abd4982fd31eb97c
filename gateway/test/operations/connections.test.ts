/** Limits per connection: requests in flight, unread responses and open files; and limits on connections. */
import { once } from 'node:events'
import { readdir, readlink } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import type { Environment } from '../../src/config.ts'
import { ask, askJson } from '../kit/answers.ts'
import { completeTask, createAccount, createKey, type TestKey } from '../kit/factories.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'

// More than the buffers of both ends of a loopback connection hold.
const fileBytes = Buffer.alloc(24_000_000, 'kinora')

let gateway: TestGateway
let key: TestKey
let link: string

beforeAll(async () => {
  gateway = await startGateway()
  const { postgres } = gateway.database
  const accountId = await createAccount(postgres)
  key = await createKey(postgres, accountId)
  const order = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480' }
  const { body } = await askJson(`${gateway.url}/v1/videos`, key.text, order)
  const id = String(body['id'])
  await completeTask(gateway, accountId, id, { bytes: fileBytes })
  const completed = await ask(`${gateway.url}/v1/videos/${id}`, key.text)
  const { pathname, search } = new URL(String(completed.body['video_url']))
  link = `${pathname}${search}`
})
afterAll(() => gateway[Symbol.asyncDispose]())

const open = async (url: string, localAddress = '127.0.0.1'): Promise<Socket> => {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), localAddress })
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}
const get = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`

/** Reads until this many bytes have arrived or the connection has ended. */
const readBytes = async (socket: Socket, count: number): Promise<Buffer> => {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of socket.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    length += chunk.length
    if (length >= count) break
  }
  return Buffer.concat(chunks)
}

/** How many files of the gateway's media directory this process has open. */
const openFiles = async (): Promise<number> => {
  const directory = join(gateway.directory, 'media')
  const targets = await Promise.all(
    (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')),
  )
  return targets.filter((target) => target.startsWith(directory)).length
}

/** Waits many ticks of the event loop, so that the gateway can process what it was sent. */
const turns = async (url: string, count = 30) => {
  for (let turn = 0; turn < count; turn += 1) await ask(`${url}/livez`, undefined)
}

describe('requests pipelined on one connection', () => {
  test('are handled in order, each after the response before it was read', async () => {
    const socket = await open(gateway.url)
    const count = 12
    socket.pause()
    socket.write(get(link).repeat(count))
    await expect.poll(openFiles).toBe(1)
    await turns(gateway.url)
    expect(await openFiles()).toBe(1)

    const text = (await readBytes(socket, count * fileBytes.length)).toString('latin1')
    expect(text.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(count)
    socket.destroy()
    await expect.poll(openFiles).toBe(0)
  })

  test('the connection can be reused, and the body of a waiting request arrives completely', async () => {
    const body = JSON.stringify({ model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480' })
    const post = `POST /v1/videos HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key.text}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n`
    const socket = await open(gateway.url)
    socket.setEncoding('utf8')
    let text = ''
    socket.on('data', (chunk: string) => {
      text += chunk
    })
    socket.write(
      `${get('/v1/models', `Authorization: Bearer ${key.text}\r\n`)}${post}\r\n${body.slice(0, 9)}`,
    )
    await expect.poll(() => text).toContain('"data"')
    socket.write(`${body.slice(9)}${get('/livez')}`)
    await expect.poll(() => text).toContain('{"status":"ok"}')
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(Array.from({ length: 3 }, () => 'HTTP/1.1 200'))
    expect(text.indexOf('"pending"')).toBeLessThan(text.indexOf('{"status":"ok"}'))
    socket.write(get('/livez', 'Connection: close\r\n'))
    await once(socket, 'close')
    expect(text.match(/HTTP\/1\.1 200/g)).toHaveLength(4)
  })

  test('invalid bytes after a request never become a part of its response', async () => {
    const socket = await open(gateway.url)
    socket.write(`${get(link)}NONSENSE\r\n\r\n`)
    const text = (await readBytes(socket, Infinity).catch(() => Buffer.alloc(0))).toString('latin1')
    expect(text).not.toContain('HTTP/1.1 400')
  })

  test('a connection with too many waiting requests is closed together with its file', async () => {
    const socket = await open(gateway.url)
    const closed = once(socket.resume(), 'close')
    socket.write(get(link).repeat(200))
    await closed
    await expect.poll(openFiles).toBe(0)
  })
})

describe('a response that is not read', () => {
  test('is aborted after the configured time, and its file is closed', async () => {
    await using strict = await startGateway({ RESPONSE_STALL_SECONDS: '1' }, gateway)
    // The file of an earlier response may still be open, and would be taken for that of this one.
    await expect.poll(openFiles).toBe(0)
    const socket = await open(strict.url)
    socket.pause()
    socket.write(get(link))
    await expect.poll(openFiles).toBe(1)
    await expect.poll(openFiles).toBe(0)
    const closed = once(socket, 'close')
    const bytes = await readBytes(socket, Infinity)
    await closed
    expect(bytes.length).toBeLessThan(fileBytes.length)
  })

  test('its file is closed when the client disconnects', async () => {
    await expect.poll(openFiles).toBe(0)
    const socket = await open(gateway.url)
    socket.pause()
    socket.write(get(link))
    await expect.poll(openFiles).toBe(1)
    socket.destroy()
    await expect.poll(openFiles).toBe(0)
  })
})

describe('connections', () => {
  /** The response to a new connection; null if it was closed without one. */
  const statusFrom = async (url: string, localAddress: string): Promise<string | null> => {
    const socket = await open(url, localAddress)
    socket.write(get('/livez', 'Connection: close\r\n'))
    const text = (await readBytes(socket, Infinity).catch(() => Buffer.alloc(0))).toString()
    return /^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? null
  }
  const held = async (url: string, count: number, localAddress: string) => {
    const sockets = await Promise.all(Array.from({ length: count }, () => open(url, localAddress)))
    // Each has had a response, so each is counted.
    for (const socket of sockets) {
      socket.write(get('/livez'))
      await readBytes(socket, 1)
    }
    return sockets
  }
  const withLimits = (given: Environment) =>
    startGateway({ LIMIT_CONNECTIONS_PER_ADDRESS: '3', ...given }, gateway)

  test('above the limit of an address get a 429 and are closed, until another one is closed', async () => {
    await using bounded = await withLimits({})
    const [first, ...others] = await held(bounded.url, 3, '127.0.0.2')
    expect(await statusFrom(bounded.url, '127.0.0.2')).toBe('429')
    expect(await statusFrom(bounded.url, '127.0.0.3')).toBe('200')
    first?.destroy()
    await expect.poll(() => statusFrom(bounded.url, '127.0.0.2')).toBe('200')
    for (const socket of others) socket.destroy()
  })

  test('of a trusted proxy are not limited by its address', async () => {
    await using bounded = await withLimits({ TRUSTED_PROXIES: '127.0.0.2' })
    const sockets = await held(bounded.url, 5, '127.0.0.2')
    expect(await statusFrom(bounded.url, '127.0.0.2')).toBe('200')
    for (const socket of sockets) socket.destroy()
  })

  test('above the total limit get a 503 and are closed', async () => {
    await using bounded = await withLimits({ LIMIT_CONNECTIONS: '4', TRUSTED_PROXIES: '127.0.0.2' })
    const sockets = await held(bounded.url, 4, '127.0.0.2')
    expect(await statusFrom(bounded.url, '127.0.0.2')).toBe('503')
    expect(await statusFrom(bounded.url, '127.0.0.3')).toBe('503')
    sockets.pop()?.destroy()
    await expect.poll(() => statusFrom(bounded.url, '127.0.0.3')).toBe('200')
    for (const socket of sockets) socket.destroy()
  })

  test('that are reset before they are served do no harm', async () => {
    const sockets = await Promise.all(Array.from({ length: 200 }, () => open(gateway.url, '127.0.0.4')))
    for (const socket of sockets) socket.resetAndDestroy()
    await turns(gateway.url)
    expect(await statusFrom(gateway.url, '127.0.0.4')).toBe('200')
  })

  test('without a request are closed without a text, which would be taken for the response to the first one', async () => {
    const socket = await open(gateway.url)
    expect((await readBytes(socket, Infinity)).toString()).toBe('')
  })

  test('are not limited without admission control, nor are the requests on them', async () => {
    await using unbounded = await withLimits({ ADMISSION_CONTROL: 'false', LIMIT_CONNECTIONS: '4' })
    const sockets = await held(unbounded.url, 6, '127.0.0.2')
    expect(await statusFrom(unbounded.url, '127.0.0.2')).toBe('200')
    for (const socket of sockets) socket.destroy()
    const socket = await open(unbounded.url)
    socket.pause()
    socket.write(get(link).repeat(12))
    await expect.poll(openFiles).toBeGreaterThan(1)
    socket.destroy()
  })
})

test('a shutdown does not wait for clients that keep their connections open', async () => {
  const closing = await startGateway({}, gateway)
  const socket = await open(closing.url)
  // The response begins before the shutdown, so it cannot announce that the connection will be closed.
  socket.write(get(link))
  const head = (await readBytes(socket, 1)).toString('latin1')
  const keepAliveSeconds = Number(/^keep-alive: timeout=(\d+)/im.exec(head)?.[1])
  expect(keepAliveSeconds).toBeGreaterThan(0)
  const closed = closing[Symbol.asyncDispose]()
  const beganMs = performance.now()
  socket.resume()
  await closed
  expect(performance.now() - beganMs).toBeLessThan((keepAliveSeconds * 1_000) / 2)
  socket.destroy()
})

test('a shutdown closes connections without a request, and answers a request that is arriving', async () => {
  const closing = await startGateway({}, gateway)
  const [unused, arriving] = await Promise.all([open(closing.url), open(closing.url)])
  const request = get('/livez')
  arriving.write(request.slice(0, 5))
  await turns(closing.url)
  const closed = closing[Symbol.asyncDispose]()
  expect((await readBytes(unused, Infinity)).toString()).toBe('')
  arriving.write(request.slice(5))
  expect((await readBytes(arriving, Infinity)).toString()).toMatch(/^HTTP\/1\.1 200 /)
  await closed
})
