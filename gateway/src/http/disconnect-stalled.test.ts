import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { Readable } from 'node:stream'

import { afterEach, expect, test, vi } from 'vitest'

import { disconnectStalled } from './disconnect-stalled.ts'

const opened: (() => void)[] = []

afterEach(() => {
  vi.useRealTimers()
  for (const close of opened.splice(0)) close()
})

/** Sends this body to a client that has asked and not read anything yet. */
const serve = async (body: Readable) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').pause()
  opened.push(
    () => socket.destroy(),
    () => server.close(),
  )
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  const [, response] = (await once(server, 'request')) as [unknown, ServerResponse]
  disconnectStalled(response, body, 60_000)
  body.pipe(response)
  return { socket, response }
}

const megabyte = Buffer.alloc(1_000_000)

test('a client that takes nothing for so long is disconnected', async () => {
  const endless = new Readable({
    read() {
      this.push(megabyte)
    },
  })
  const { response } = await serve(endless)
  await vi.waitFor(() => expect(response.writableNeedDrain).toBe(true))
  vi.advanceTimersByTime(59_000)
  expect(response.destroyed).toBe(false)
  await vi.waitFor(() => {
    vi.advanceTimersByTime(61_000)
    expect(response.destroyed).toBe(true)
  })
})

test('a client that reads again in time is not', async () => {
  let left = 20
  const some = new Readable({
    read() {
      left -= 1
      this.push(left < 0 ? null : megabyte)
    },
  })
  const { socket, response } = await serve(some)
  await vi.waitFor(() => expect(response.writableNeedDrain).toBe(true))
  vi.advanceTimersByTime(59_000)
  socket.resume()
  await once(response, 'finish')
  vi.advanceTimersByTime(120_000)
  expect(response.writableFinished).toBe(true)
})

test('a client with nothing to take may wait for as long as it likes', async () => {
  const silent = new Readable({ read: () => undefined })
  const { response } = await serve(silent)
  silent.push('a beginning')
  await vi.waitFor(() => expect(response.headersSent).toBe(true))
  vi.advanceTimersByTime(600_000)
  expect(response.destroyed).toBe(false)
})
