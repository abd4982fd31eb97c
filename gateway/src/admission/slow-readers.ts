/**
 * Detects a client that reads its response too slowly while a provider works for it: fewer bytes than the minimum in the
 * last seconds during which bytes waited for it. Time in which the provider sends nothing does not count.
 */
import type { Socket } from 'node:net'

import { createRateWindow } from '../platform/streams/minimum-rate.ts'
import { acceptedBytesOf } from './stalled-connections.ts'

const checkEveryMs = 1_000
const windowMs = 30_000
/** While somebody else waits for the same provider. */
const windowMsIfWanted = 10_000

/** Calls `onTooSlow` when the client is too slow. Returns the function that stops watching. */
export const watchReader = (
  socket: Socket,
  bytesPerSecondMin: number,
  isWanted: () => boolean,
  onTooSlow: () => void,
): (() => void) => {
  const window = createRateWindow({ bytesPerSecondMin, windowMs })
  const windowIfWanted = createRateWindow({ bytesPerSecondMin, windowMs: windowMsIfWanted })
  let acceptedBytes = acceptedBytesOf(socket)
  let wasWaiting = false
  const timer = setInterval(() => {
    const bytes = acceptedBytesOf(socket) - acceptedBytes
    acceptedBytes += bytes
    const isWaiting = socket.writableLength > 0
    const hasWaited = wasWaiting && isWaiting
    wasWaiting = isWaiting
    if (!hasWaited) return
    const [isSlow, isSlowIfWanted] = [window, windowIfWanted].map((each) => {
      each.received(bytes)
      return each.waited(checkEveryMs)
    })
    if (isSlow === true || (isSlowIfWanted === true && isWanted())) onTooSlow()
  }, checkEveryMs).unref()
  return () => clearInterval(timer)
}
