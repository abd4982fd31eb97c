import type { ServerResponse } from 'node:http'

import { ApiError } from '@kinora/contract/errors'

/** Aborts calls that only wait, for instance for the end of a task, when this process starts to close. */
export interface Closing {
  /** Aborts the call when the close begins, or at once if it has begun. */
  abortOnClose: (waiting: AbortController) => void
  forget: (waiting: AbortController) => void
  begin: () => void
}

export const createClosing = (): Closing => {
  const waitingCalls = new Set<AbortController>()
  let hasBegun = false
  const abort = (waiting: AbortController) =>
    waiting.abort(
      new ApiError('service_unavailable', { message: 'This server is being restarted; connect again.' }),
    )
  return {
    abortOnClose: (waiting) => {
      if (hasBegun) abort(waiting)
      else waitingCalls.add(waiting)
    },
    forget: (waiting) => {
      waitingCalls.delete(waiting)
    },
    begin: () => {
      hasBegun = true
      for (const waiting of waitingCalls) abort(waiting)
      waitingCalls.clear()
    },
  }
}

const closeListenersMax = 20

/**
 * Makes a controller that is aborted when the client disconnects. It is a function of its own because its listener
 * lives as long as the connection: created next to a request's body, it would hold that body for a whole stream.
 */
export const abortOnDisconnect = (response: ServerResponse, closing: Closing): AbortController => {
  const disconnected = new AbortController()
  // Each part of the server that serves the request has one.
  response.setMaxListeners(closeListenersMax)
  response.on('close', () => {
    closing.forget(disconnected)
    if (!response.writableFinished) disconnected.abort()
  })
  if (response.destroyed) disconnected.abort()
  return disconnected
}
