import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'

import { afterEach, expect, test, vi } from 'vitest'

import { createLog } from '../platform/log.ts'
import { withFinalizer } from '../platform/streams/with-finalizer.ts'
import { sendEvents, type EventStream } from './sse.ts'

const log = createLog({ level: 'silent' }, 'test')
const opened: (() => void)[] = []

afterEach(() => {
  vi.useRealTimers()
  for (const close of opened.splice(0)) close()
})

/** One client that has asked and not read anything yet. */
const connected = async (method: string): Promise<{ socket: Socket; response: ServerResponse }> => {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  opened.push(
    () => socket.destroy(),
    () => server.close(),
  )
  socket.write(`${method} / HTTP/1.1\r\nHost: x\r\n\r\n`)
  const [, response] = (await once(server, 'request')) as [unknown, ServerResponse]
  return { socket, response }
}

const serve = async (events: () => EventStream, method = 'GET') => {
  const { socket, response } = await connected(method)
  sendEvents(response, { 'x-request-id': 'req_1' }, events(), log)
  return { socket, response }
}

const read = (socket: Socket) => {
  let text = ''
  socket.setEncoding('utf8').on('data', (chunk) => {
    text += String(chunk)
  })
  return () => text
}

/** A stream that tells when it is asked for more, and when it is left. */
const told = (make: (index: number) => string) => {
  const seen = { asked: 0, isLeft: false }
  async function* events(): EventStream {
    try {
      for (;;) {
        seen.asked += 1
        yield { id: seen.asked, data: make(seen.asked) }
      }
    } finally {
      seen.isLeft = true
    }
  }
  return { seen, events }
}

async function* never(): EventStream {
  await new Promise(() => undefined)
  yield { data: '' }
}

test('sends the headers at once and the events in their lines, then ends with the connection', async () => {
  const { socket } = await serve(async function* () {
    yield { id: 7, event: 'progress', data: '{"a":1}' }
    yield { data: '[DONE]' }
    yield { retryMs: 900 }
  })
  const text = read(socket)
  await once(socket, 'close')
  const [head = ''] = text().split('\r\n\r\n')
  for (const line of [
    'HTTP/1.1 200 OK',
    'content-type: text/event-stream; charset=utf-8',
    'cache-control: no-cache, no-transform',
    'x-accel-buffering: no',
    'x-request-id: req_1',
  ]) {
    expect(head.split('\r\n')).toContain(line)
  }
  expect(text()).toContain('id: 7\nevent: progress\ndata: {"a":1}\n\n')
  expect(text()).toContain('\ndata: [DONE]\n\n')
  expect(text()).toContain('\nretry: 900\n\n')
})

test('answers a HEAD with the headers alone, without waiting for an event', async () => {
  const { socket } = await serve(never, 'HEAD')
  const text = read(socket)
  await once(socket, 'close')
  expect(text()).toContain('text/event-stream')
})

test('breaks a silence of twelve seconds with a comment, again and again', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const { socket } = await serve(never)
  const text = read(socket)
  vi.advanceTimersByTime(11_900)
  expect(text()).not.toContain('ping')
  vi.advanceTimersByTime(12_100)
  await expect.poll(() => text().match(/^: ping\n\n/gm)?.length).toBe(2)
})

test('asks for no more than a slow client takes, and goes on when it reads again', async () => {
  const { seen, events } = told(() => 'x'.repeat(10_000))
  const { socket, response } = await serve(events)
  socket.pause()
  let before = -1
  // Once the buffers of both ends are full nothing more is asked for.
  await expect
    .poll(
      () => {
        const isQuiet = response.writableNeedDrain && seen.asked === before
        before = seen.asked
        return isQuiet
      },
      { interval: 100 },
    )
    .toBe(true)
  const full = seen.asked
  expect(full).toBeGreaterThan(1)
  socket.resume()
  await expect.poll(() => seen.asked).toBeGreaterThan(full)
  socket.destroy()
  await expect.poll(() => seen.isLeft).toBe(true)
})

test('leaves the events when the connection of a client that has stopped reading is closed', async () => {
  const { seen, events } = told(() => 'x'.repeat(1_000_000))
  const { socket, response } = await serve(events)
  socket.pause()
  await expect.poll(() => response.writableNeedDrain).toBe(true)
  response.socket?.destroy()
  await expect.poll(() => seen.isLeft).toBe(true)
})

test('cuts the connection when the events fail, so that it does not look like an end', async () => {
  const { socket } = await serve(async function* () {
    yield { data: 'first' }
    throw new Error('a failure of a test')
  })
  const text = read(socket)
  await once(socket, 'close')
  expect(text()).toContain('200 OK')
  expect(text()).not.toMatch(/0\r\n\r\n$/)
})

test.each(['a client that is gone', 'a HEAD', 'headers that cannot be written'])(
  'ends a stream that is not read because of %s',
  async (why) => {
    const ended = vi.fn<() => Promise<void>>().mockResolvedValue()
    const events = withFinalizer(never(), ended)
    const { socket, response } = await connected(why === 'a HEAD' ? 'HEAD' : 'GET')
    if (why === 'a client that is gone') {
      socket.destroy()
      await once(response, 'close')
    }
    sendEvents(response, why.startsWith('headers') ? { 'x-name': 'not\na header' } : {}, events, log)
    if (!response.closed) await once(response, 'close')
    await vi.waitFor(() => expect(ended).toHaveBeenCalledOnce())
  },
)
