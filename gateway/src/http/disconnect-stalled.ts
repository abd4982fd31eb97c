import type { ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'

/** Closes the connection to a client that takes nothing of its body for so long; one that has nothing to take may wait. */
export const disconnectStalled = (response: ServerResponse, body: Readable, stalledMsMax: number): void => {
  let stalled: NodeJS.Timeout | undefined
  const stop = () => clearTimeout(stalled)
  // A body is paused when the connection takes no more, and goes on when it does again.
  body.on('pause', () => {
    stop()
    stalled = setTimeout(() => response.destroy(), stalledMsMax)
  })
  response.on('drain', stop).on('close', stop)
}
