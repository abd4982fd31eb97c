import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setImmediate as yieldToEventLoop, setTimeout as wait } from 'node:timers/promises'

export interface UnreachablePort {
  url: string
  close: () => Promise<void>
}

/**
 * Listens, prints its port, and never accepts a connection, because its event loop is blocked. Only SIGKILL reaches it,
 * so it exits by itself when its parent is gone.
 */
const neverAccept = `
  const server = require('node:net').createServer()
  server.listen(0, '127.0.0.1', 1, () => {
    require('node:fs').writeSync(1, String(server.address().port))
    const parent = process.ppid
    const bell = new Int32Array(new SharedArrayBuffer(4))
    while (process.ppid === parent) Atomics.wait(bell, 0, 0, 500)
    process.exit()
  })`

/** A local connection that takes longer is not accepted. */
const connectTimeoutMs = 200

/** More than the smallest accept queue of any system. */
const queuedMax = 64

/** A port that neither accepts nor refuses connections, because its accept queue is full. */
export async function startBlackHole(): Promise<UnreachablePort> {
  const child = spawn(process.execPath, ['-e', neverAccept], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [printed] = (await once(child.stdout, 'data')) as [Buffer]
  const port = Number(printed.toString())
  const queued: Socket[] = []
  while (await fitsQueue(port, queued)) {
    if (queued.length > queuedMax)
      throw new Error('this system accepts every connection, so a black hole is not possible')
  }
  return {
    url: `http://127.0.0.1:${port}`,
    close: async () => {
      for (const socket of queued) socket.destroy()
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    },
  }
}

/** Whether one more connection fits into the accept queue. */
async function fitsQueue(port: number, queued: Socket[]): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  // The connection ends with the child process.
  socket.on('error', () => {})
  let isConnected = false
  const connected = once(socket, 'connect').then(
    () => (isConnected = true),
    () => {},
  )
  await Promise.race([connected, wait(connectTimeoutMs)])
  // On a busy machine the timer can fire before the event of an established connection.
  for (let iteration = 0; iteration < 3; iteration += 1) await yieldToEventLoop()
  if (isConnected) queued.push(socket.unref())
  else socket.destroy()
  return isConnected
}

/** A port with plain HTTP behind an https URL. */
export async function startPlainPort(): Promise<UnreachablePort> {
  const server = createServer((_request, response) => response.end('plain'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      const closed = once(server, 'close')
      server.close().closeAllConnections()
      await closed
    },
  }
}
