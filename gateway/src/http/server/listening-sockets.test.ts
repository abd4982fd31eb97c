import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'

import fastify from 'fastify'
import { expect, onTestFinished, test } from 'vitest'

import { createListeningSockets, listen } from './listening-sockets.ts'

const connections = 64

/** Opens connections in another thread and tells when the kernel has established all of them. */
const connectAll = `
const { workerData: { port, count, established } } = require('node:worker_threads')
const { connect } = require('node:net')
let open = 0
for (let index = 0; index < count; index += 1)
  connect({ host: '127.0.0.1', port }, () => {
    open += 1
    if (open < count) return
    Atomics.store(established, 0, 1)
    Atomics.notify(established, 0)
  })
`

const openAll = (port: number) => {
  const established = new Int32Array(new SharedArrayBuffer(4))
  const worker = new Worker(connectAll, {
    eval: true,
    workerData: { port, count: connections, established },
  })
  onTestFinished(async () => {
    await worker.terminate()
  })
  // The event loop stands still, so nothing is accepted meanwhile.
  Atomics.wait(established, 0, 0)
}

test.runIf(process.platform === 'linux')(
  'connections that arrived during a long turn of the event loop are accepted many per turn',
  async () => {
    const server = createServer()
    const sockets = createListeningSockets()
    onTestFinished(async () => {
      const closed = sockets.close()
      server.closeAllConnections()
      server.close()
      await closed
    })
    sockets.addTo(server)
    let accepted = 0
    server.on('connection', (socket) => {
      accepted += 1
      onTestFinished(() => void socket.destroy())
    })
    server.listen({ host: '127.0.0.1', port: 0, reusePort: true })
    await once(server, 'listening')
    // The other sockets listen one turn later.
    await turn()
    openAll((server.address() as AddressInfo).port)
    let turns = 0
    for (; accepted < connections; turns += 1) await turn()
    // One socket would need a turn for each; the kernel does not spread them quite evenly.
    expect(turns).toBeLessThan(connections / 2)
  },
)

test('a port that another server uses is refused', async () => {
  const first = fastify()
  const second = fastify()
  onTestFinished(async () => {
    await Promise.all([first.close(), second.close()])
  })
  const url = await listen(first, { host: '127.0.0.1', port: 0 })
  await expect(listen(second, { host: '127.0.0.1', port: Number(new URL(url).port) })).rejects.toThrow(
    'EADDRINUSE',
  )
})
