/**
 * Handles the requests of a connection one after the other. HTTP/1.1 lets a client send requests without waiting for
 * responses (pipelining), and Node emits each one as soon as it is parsed. A client that sends many and reads nothing
 * would make us hold a file or a stream for each. Here a request starts when the response before it has ended.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

interface Exchange {
  request: IncomingMessage
  response: ServerResponse
}

export interface Pipelining {
  /** Wraps a listener so that it gets one request of a connection at a time. */
  serialise: (handle: RequestListener) => RequestListener
  /** Whether a response is being written to this connection, or is queued. */
  isAnswering: (socket: Socket) => boolean
}

/**
 * A connection with a queued request is not read, so only requests of the same packet can wait. No real client pipelines
 * deeper than this. One that does is disconnected, and may repeat the requests that got no response.
 */
const waitingMax = 16

export const createPipelining = (onCutOff: (socket: Socket) => void): Pipelining => {
  // The waiting requests of each connection that has a response under way.
  const waitingOf = new WeakMap<Socket, Exchange[]>()

  const start = (
    handle: RequestListener,
    socket: Socket,
    waiting: Exchange[],
    { request, response }: Exchange,
  ) => {
    response.on('close', () => {
      const next = socket.destroyed ? undefined : waiting.shift()
      if (next === undefined) {
        waitingOf.delete(socket)
        return
      }
      // Reading again also detects that the client disconnects.
      if (waiting.length === 0) socket.resume()
      start(handle, socket, waiting, next)
    })
    handle(request, response)
  }

  return {
    serialise: (handle) => (request, response) => {
      const { socket } = request
      const waiting = waitingOf.get(socket)
      if (waiting === undefined) {
        const none: Exchange[] = []
        waitingOf.set(socket, none)
        start(handle, socket, none, { request, response })
        return
      }
      if (socket.destroyed) return
      if (waiting.length >= waitingMax) {
        onCutOff(socket)
        socket.destroy()
        return
      }
      waiting.push({ request, response })
      socket.pause()
    },
    isAnswering: (socket) => waitingOf.has(socket),
  }
}
