/**
 * Closes connections whose client does not read. A response has stalled when it has unsent bytes and the client has
 * accepted none for a while. A stalled response of any kind occupies a file, a provider's stream or events, so its
 * connection is closed. A client that reads slowly is not affected.
 */
import type { Socket } from 'node:net'

import { count } from '../platform/metrics/metrics.ts'

export interface StallWatch {
  /** Watches a connection until it is closed. */
  watch: (socket: Socket) => void
  /** Closes every stalled connection; a timer calls it. */
  check: () => void
  stop: () => void
}

interface Progress {
  acceptedBytes: number
  /** Since when bytes wait and none was accepted; undefined if none wait. */
  sinceMs: number | undefined
}

const checksPerStall = 10
const pollIntervalMsMax = 5_000

/**
 * How many bytes the operating system has accepted for the client. Only the handle knows the progress of an incomplete
 * write; Node's own socket timeout uses it as well.
 */
export const acceptedBytesOf = (socket: Socket): number => {
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
      const acceptedBytes = acceptedBytesOf(socket)
      if (progress.sinceMs === undefined || acceptedBytes !== progress.acceptedBytes) {
        progress.acceptedBytes = acceptedBytes
        progress.sinceMs = now
      } else if (now - progress.sinceMs >= stallMs) {
        count('kinora.admission.rejections', { reason: 'slow_client' })
        socket.destroy()
      }
    }
  }

  const timer = Number.isFinite(stallMs)
    ? setInterval(check, Math.min(pollIntervalMsMax, stallMs / checksPerStall)).unref()
    : undefined

  return {
    watch: (socket) => {
      watched.set(socket, { acceptedBytes: 0, sinceMs: undefined })
      socket.on('close', () => watched.delete(socket))
    },
    check,
    stop: () => clearInterval(timer),
  }
}
