/** Node's HTTP server, with limits on its connections and on the resources of each. */
import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http'
import type { Socket } from 'node:net'

import { ApiError } from '@kinora/contract/errors'

import { addressPrefixOf } from '../../admission/address-prefix.ts'
import { createConnectionLimit, type ConnectionRefusal } from '../../admission/connection-limits.ts'
import { createPacedStarts } from '../../admission/paced-starts.ts'
import { createStallWatch } from '../../admission/stalled-connections.ts'
import { isAddressAllowed } from '../../auth/caller.ts'
import { count } from '../../platform/metrics/metrics.ts'
import { createListeningSockets } from './listening-sockets.ts'
import { createPipelining } from './pipelining.ts'

export interface ConnectionSettings {
  connectionsPerAddress: number
  connections: number
  /** How long a client may read nothing of a response that is ready to be sent. */
  responseStallMs: number
  /** Whether the requests of a connection are handled one after the other. */
  serialisesRequests: boolean
  trustedProxies: string[]
}

const refusals: Record<ConnectionRefusal, ApiError> = {
  too_many_from_address: new ApiError('rate_limit_exceeded', {
    message: 'Too many connections from this address. Close some, or reuse open ones.',
    headers: { 'retry-after': '1' },
  }),
  too_many_in_total: new ApiError('service_unavailable', {
    message: 'Too many connections. Try again in a moment.',
    headers: { 'retry-after': '1' },
  }),
}

/** Makes servers that share one set of limits: Fastify listens with one server per address of the host name. */
export const createServers = (
  settings: ConnectionSettings,
  rawProblem: (error: ApiError) => string,
  /** Wraps the listener of requests. */
  refuseOverload: (handle: RequestListener) => RequestListener,
) => {
  const { trustedProxies } = settings
  const isTrustedProxy = (address: string) => isAddressAllowed({ addresses: trustedProxies }, address)
  const { admit, cutOff } = createConnectionLimit({
    perAddress: settings.connectionsPerAddress,
    total: settings.connections,
    isTrustedProxy,
  })
  const stalls = createStallWatch(settings.responseStallMs)
  const { serialise, isAnswering } = createPipelining(cutOff)

  const begin = createPacedStarts({ runningMax: Infinity, perTick: 1 })
  /** Starts one connection of an address per tick of the event loop, because each may bring many requests. */
  const servePaced = (socket: Socket, serve: () => void) => {
    const address = socket.remoteAddress ?? ''
    if (!settings.serialisesRequests || isTrustedProxy(address)) {
      serve()
      return
    }
    const start = (end: () => void) => {
      end()
      serve()
    }
    begin(addressPrefixOf(address), { start, isGone: () => socket.destroyed })
  }

  const listeningSockets = createListeningSockets()
  const created: Server[] = []
  const create = (handle: RequestListener, options: ServerOptions): Server => {
    const gated = refuseOverload(handle)
    const server = createServer(options, settings.serialisesRequests ? serialise(gated) : gated)
    created.push(server)
    listeningSockets.addTo(server)
    const sockets = new Set<Socket>()
    const closeIdle = server.closeIdleConnections.bind(server)
    // Node takes a connection without a byte for a request that is arriving, and a closing server no longer limits its
    // time. Clients open connections in advance, so a shutdown would wait for them.
    server.closeIdleConnections = () => {
      closeIdle()
      for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
    }
    // Node's own listener sets up the parser; a refused connection never gets one.
    const serve = server.listeners('connection') as ((socket: Socket) => void)[]
    server.removeAllListeners('connection').on('connection', (socket: Socket) => {
      const refusal = admit(socket)
      // Without a listener, a client that resets its connection before it is served would end the process.
      socket.on('error', () => undefined)
      if (refusal === undefined) {
        sockets.add(socket)
        // Here and for responses, `on` takes less memory than `once`, and nothing is closed twice.
        socket.on('close', () => sockets.delete(socket))
        stalls.watch(socket)
        servePaced(socket, () => {
          for (const each of serve) each.call(server, socket)
        })
        return
      }
      count('kinora.admission.rejections', { reason: 'connections' })
      socket.end(rawProblem(refusals[refusal]), () => socket.destroy())
    })
    return server
  }

  return {
    create,
    isAnswering,
    /** Closes the connections that clients keep open for further requests. */
    closeIdle: () => {
      for (const server of created) server.closeIdleConnections()
    },
    /** Accepts no more connections on the sockets that are not the server's own. */
    closeListeningSockets: listeningSockets.close,
    stop: stalls.stop,
  }
}
