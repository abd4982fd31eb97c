/**
 * Several listening sockets on one port. Node accepts one connection of each listening socket per turn of its event loop.
 * With many requests, a turn takes a tenth of a second and more, so new connections would wait for many seconds while
 * the requests of open connections are answered. The kernel spreads new connections over the sockets.
 */
import { once } from 'node:events'
import type { Server } from 'node:http'
import { createServer as createListener, type AddressInfo, type Server as Listener } from 'node:net'

import type { FastifyInstance, FastifyListenOptions } from 'fastify'

/** In a turn of 150 ms this accepts about 100 connections per second. */
const socketsPerAddress = 16

const canShareAPort = process.platform === 'linux'

/** Fails if another process uses the port: a port that is opened for sharing would not tell. */
const assertFree = async (host: string, port: number): Promise<void> => {
  const listener = createListener().listen({ host, port, exclusive: true })
  await once(listener, 'listening')
  listener.close()
  await once(listener, 'close')
}

/** Opens the first socket; returns the URL. */
export const listen = async (
  app: FastifyInstance,
  { host, port }: { host: string; port: number },
): Promise<string> => {
  if (canShareAPort && port !== 0) await assertFree(host, port)
  const options: FastifyListenOptions & { reusePort: boolean } = { host, port, reusePort: canShareAPort }
  return app.listen(options)
}

export const createListeningSockets = () => {
  const open = new Set<Listener>()
  const addOne = (server: Server, { address, port }: AddressInfo) => {
    // As Node's HTTP server opens its own.
    const listener = createListener({ allowHalfOpen: true, noDelay: true }, (socket) =>
      server.emit('connection', socket),
    )
    // The first socket serves alone, for example if it was not opened for sharing.
    listener.on('error', () => open.delete(listener))
    listener.listen({ host: address, port, reusePort: true })
    open.add(listener)
  }
  return {
    /** Opens the other sockets as soon as this server listens. */
    addTo: (server: Server): void => {
      if (!canShareAPort) return
      server.once('listening', () => {
        for (let count = 1; count < socketsPerAddress; count += 1)
          addOne(server, server.address() as AddressInfo)
      })
    },
    /** Returns when the connections of these sockets have ended as well. */
    close: async (): Promise<void> => {
      await Promise.all([...open].map((each) => new Promise<void>((resolve) => each.close(() => resolve()))))
    },
  }
}
