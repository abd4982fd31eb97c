/**
 * Closes connections whose client does not read. A response is stalled when bytes of it wait to be sent and the client
 * has not taken any for a while. It holds its file, its provider's stream or its events for as long as it waits, so it
 * is cut off, whatever kind of response it is. A client that reads slowly is not affected.
 */
import type { Socket } from 'node:net'

export interface StallWatch {
  /** Watches a connection until it is closed. */
  watch: (socket: Socket) => void
  /** Closes every connection that has stalled; called by a timer. */
  check: () => void
  stop: () => void
}

interface Progress {
  takenBytes: number
  /** Since when bytes wait and none was taken; undefined while none waits. */
  sinceMs: number | undefined
}

const checksPerStall = 10
const pollIntervalMsMax = 5_000

/**
 * How many bytes the operating system has taken for the client. Only the handle knows what was sent of a write that is
 * not complete; Node's own socket timeout asks it as well.
 */
export const takenBytesOf = (socket: Socket): number => {
  const { _handle: handle } = socket as { _handle?: { bytesWritten: number; writeQueueSize: number } | null }
  return handle == null ? 0 : handle.bytesWritten - handle.writeQueueSize
}

export const createStallWatch = (stallMs: number, nowMs = () => performance.now()): StallWatch => {
  const watched = new Map<Socket, Progress>()

  const check = () => {
    const now = nowMs()
    for (const [socket, progress] of watched) {
      if (socket.writableLength === 0) {
        progress.sinceMs = undefined
        continue
      }
      const takenBytes = takenBytesOf(socket)
      if (progress.sinceMs === undefined || takenBytes !== progress.takenBytes) {
        progress.takenBytes = takenBytes
        progress.sinceMs = now
      } else if (now - progress.sinceMs >= stallMs) socket.destroy()
    }
  }

  const timer = Number.isFinite(stallMs)
    ? setInterval(check, Math.min(pollIntervalMsMax, stallMs / checksPerStall)).unref()
    : undefined

  return {
    watch: (socket) => {
      watched.set(socket, { takenBytes: 0, sinceMs: undefined })
      socket.once('close', () => watched.delete(socket))
    },
    check,
    stop: () => clearInterval(timer),
  }
}
