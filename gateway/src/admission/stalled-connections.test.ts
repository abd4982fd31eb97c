import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

import { afterEach, expect, test } from 'vitest'

import { createStallWatch, acceptedBytesOf } from './stalled-connections.ts'

const opened: (() => void)[] = []
afterEach(() => {
  for (const close of opened.splice(0)) close()
})

/** Both ends of a connection, of which the client's is not read. */
const connection = async (): Promise<{ server: Socket; client: Socket }> => {
  const listener = createServer()
  await once(listener.listen(0, '127.0.0.1'), 'listening')
  const accepted = once(listener, 'connection')
  const client = connect((listener.address() as AddressInfo).port, '127.0.0.1')
  client.pause()
  const [server] = (await accepted) as [Socket]
  server.on('error', () => undefined)
  opened.push(
    () => client.destroy(),
    () => server.destroy(),
    () => listener.close(),
  )
  return { server, client }
}

const stallMs = 60_000
const watchAt = () => {
  const clock = { ms: 0 }
  const stalls = createStallWatch(stallMs, () => clock.ms)
  opened.push(stalls.stop)
  return { clock, stalls }
}

/** Writes more than both ends buffer, and waits until no more is taken. */
const fill = async (server: Socket, check: () => void) => {
  server.write(Buffer.alloc(50_000_000))
  let before = -1
  await expect
    .poll(
      () => {
        const isFull = acceptedBytesOf(server) === before
        before = acceptedBytesOf(server)
        return isFull
      },
      { interval: 50 },
    )
    .toBe(true)
  check()
}

test('a connection whose client reads nothing is closed after the timeout and not before', async () => {
  const { clock, stalls } = watchAt()
  const { server } = await connection()
  stalls.watch(server)
  await fill(server, stalls.check)
  clock.ms = stallMs - 1
  stalls.check()
  expect(server.destroyed).toBe(false)
  clock.ms = stallMs
  stalls.check()
  expect(server.destroyed).toBe(true)
})

test('reading a part of a single large write restarts the timeout', async () => {
  const { clock, stalls } = watchAt()
  const { server, client } = await connection()
  stalls.watch(server)
  await fill(server, stalls.check)
  const acceptedBytes = acceptedBytesOf(server)
  await new Promise<void>((resolve) => {
    client.on('data', () => {
      if (acceptedBytesOf(server) === acceptedBytes) return
      client.pause()
      resolve()
    })
    client.resume()
  })
  expect(server.writableLength).toBeGreaterThan(0)
  clock.ms = stallMs
  stalls.check()
  expect(server.destroyed).toBe(false)
})

test('a connection without unsent bytes is never closed', async () => {
  const { clock, stalls } = watchAt()
  const { server } = await connection()
  stalls.watch(server)
  server.write('all of it')
  await expect.poll(() => server.writableLength).toBe(0)
  for (let hour = 0; hour < 5; hour += 1) {
    clock.ms = hour * 3_600_000
    stalls.check()
  }
  expect(server.destroyed).toBe(false)
})
