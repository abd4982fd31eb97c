import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'

import { afterEach, expect, test, vi } from 'vitest'

import { createLog } from '../platform/log.ts'
import { withFinalizer } from '../platform/streams/with-finalizer.ts'
import { sendEvents, type EventStream } from './sse.ts'
import { createStreamComments } from './stream-comments.ts'

const log = createLog({ level: 'silent' }, 'test')
const opened: (() => void)[] = []

afterEach(() => {
  vi.useRealTimers()
  for (const close of opened.splice(0)) close()
})

/** A client that has sent its request and not read anything yet. */
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

/** A stream that counts how often it is pulled and records when it is ended. */
const observed = (make: (index: number) => string) => {
  const seen = { pulled: 0, isEnded: false }
  async function* events(): EventStream {
    try {
      for (;;) {
        seen.pulled += 1
        yield { id: seen.pulled, data: make(seen.pulled) }
      }
    } finally {
      seen.isEnded = true
    }
  }
  return { seen, events }
}

async function* never(): EventStream {
  await new Promise(() => undefined)
  yield { data: '' }
}

test('sends the headers at once, then the events, and closes the connection at the end', async () => {
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

test('answers HEAD with the headers alone, without waiting for an event', async () => {
  const { socket } = await serve(never, 'HEAD')
  const text = read(socket)
  await once(socket, 'close')
  expect(text()).toContain('text/event-stream')
})

test('sends a comment at least every twelve seconds without an event', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const { socket, response } = await connected('GET')
  sendEvents(response, {}, never(), log, createStreamComments())
  const text = read(socket)
  vi.advanceTimersByTime(7_900)
  expect(text()).not.toContain('ping')
  vi.advanceTimersByTime(16_200)
  await expect.poll(() => text().match(/^: ping\n\n/gm)?.length).toBe(2)
})

test('pulls no more events than a slow client reads, and goes on when it reads again', async () => {
  const { seen, events } = observed(() => 'x'.repeat(10_000))
  const { socket, response } = await serve(events)
  socket.pause()
  let before = -1
  // Nothing more is pulled once the buffers of both ends are full.
  await expect
    .poll(
      () => {
        const isQuiet = response.writableNeedDrain && seen.pulled === before
        before = seen.pulled
        return isQuiet
      },
      { interval: 100 },
    )
    .toBe(true)
  const full = seen.pulled
  expect(full).toBeGreaterThan(1)
  socket.resume()
  await expect.poll(() => seen.pulled).toBeGreaterThan(full)
  socket.destroy()
  await expect.poll(() => seen.isEnded).toBe(true)
})

test('ends the events when the connection of a client that does not read is closed', async () => {
  const { seen, events } = observed(() => 'x'.repeat(1_000_000))
  const { socket, response } = await serve(events)
  socket.pause()
  await expect.poll(() => response.writableNeedDrain).toBe(true)
  response.socket?.destroy()
  await expect.poll(() => seen.isEnded).toBe(true)
})

test('destroys the connection when the events fail, so that the stream does not look complete', async () => {
  const { socket } = await serve(async function* () {
    yield { data: 'first' }
    throw new Error('failure of the test')
  })
  const text = read(socket)
  await once(socket, 'close')
  expect(text()).toContain('200 OK')
  expect(text()).not.toMatch(/0\r\n\r\n$/)
})

test.each(['a disconnected client', 'a HEAD', 'headers that cannot be written'])(
  'ends a stream that is not read because of %s',
  async (why) => {
    const ended = vi.fn<() => Promise<void>>().mockResolvedValue()
    const events = withFinalizer(never(), ended)
    const { socket, response } = await connected(why === 'a HEAD' ? 'HEAD' : 'GET')
    if (why === 'a disconnected client') {
      socket.destroy()
      await once(response, 'close')
    }
    sendEvents(response, why.startsWith('headers') ? { 'x-name': 'not\na header' } : {}, events, log)
    if (!response.closed) await once(response, 'close')
    await expect.poll(() => ended).toHaveBeenCalledOnce()
  },
)
