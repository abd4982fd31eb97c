import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setImmediate as yieldToEventLoop, setTimeout as wait } from 'node:timers/promises'

/** An address at which nothing good can happen. */
export interface DeadEnd {
  url: string
  close: () => Promise<void>
}

/**
 * Listens, says where, and never looks at its connections again. It goes when the process that started it is gone, which
 * it can tell only by itself: with its event loop blocked, no signal but the last one reaches it.
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

/** How long a connection on this machine may take before it counts as never made. */
const patienceMs = 200

/** More than the shortest queue that any system has. */
const mostQueued = 64

/** A port at which connections are neither made nor refused: its queue is full, and nobody takes from it. */
export async function startBlackHole(): Promise<DeadEnd> {
  const child = spawn(process.execPath, ['-e', neverAccept], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [printed] = (await once(child.stdout, 'data')) as [Buffer]
  const port = Number(printed.toString())
  const queued: Socket[] = []
  while (await isTaken(port, queued)) {
    if (queued.length > mostQueued)
      throw new Error('this machine takes every connection, so nothing is dead here')
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

/** Whether one more connection finds room in the queue; it stays there then. */
async function isTaken(port: number, queued: Socket[]): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  // It ends with the child, and that is nobody's concern.
  socket.on('error', () => {})
  let isConnected = false
  const connected = once(socket, 'connect').then(
    () => (isConnected = true),
    () => {},
  )
  await Promise.race([connected, wait(patienceMs)])
  // A process that had to wait for a processor sees the timer before a connection that was made long ago.
  for (let turn = 0; turn < 3; turn += 1) await yieldToEventLoop()
  if (isConnected) queued.push(socket.unref())
  else socket.destroy()
  return isConnected
}

/** A port that speaks plain HTTP where TLS is expected. */
export async function startPlainPort(): Promise<DeadEnd> {
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
