/**
 * Handles the requests of a connection one after the other. HTTP/1.1 lets a client send requests without waiting for
 * the answers (pipelining), and Node hands out each one as soon as it is parsed. Then a client that sends many and reads
 * nothing makes us hold a file or a stream for each. Here a request starts only when the response before it has ended.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

interface Exchange {
  request: IncomingMessage
  response: ServerResponse
}

export interface Pipelining {
  /** The same, but for one request of a connection at a time. */
  serialise: (handle: RequestListener) => RequestListener
  /** Whether a response is being written to this connection, or waits to be. */
  isAnswering: (socket: Socket) => boolean
}

/**
 * A connection that is answering stops being read, so few requests wait: those that came in the same packet as the one
 * before. No client in use pipelines deeper than this. One that does is cut off; it may repeat what was not answered.
 */
const waitingMax = 16

export const createPipelining = (onCutOff: (socket: Socket) => void): Pipelining => {
  // The requests that wait, of each connection that is answering one.
  const waitingOf = new WeakMap<Socket, Exchange[]>()

  const start = (
    handle: RequestListener,
    socket: Socket,
    waiting: Exchange[],
    { request, response }: Exchange,
  ) => {
    response.once('close', () => {
      const next = socket.destroyed ? undefined : waiting.shift()
      if (next === undefined) {
        waitingOf.delete(socket)
        return
      }
      // Also to notice a client that leaves; a connection is read whenever nothing waits on it.
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
