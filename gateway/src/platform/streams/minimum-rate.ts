/**
 * Detects a sender that is too slow: it sent less than the minimum in the last seconds of waiting for it. The window
 * slides, so a fast start does not make up for a later stall. Time spent processing received bytes does not count.
 */
export interface MinimumRate {
  bytesPerSecondMin: number
  windowMs: number
  /** Multiplies the minimum. It may change at any time. */
  factor?: () => number
}

export interface RateWindow {
  received: (bytes: number) => void
  /** Adds waiting time; returns true if the sender is too slow. */
  waited: (ms: number) => boolean
  /** The rate of the window, with the waiting time that was not added yet; Infinity before the first. */
  bytesPerSecond: (waitingMs?: number) => number
}

export const createRateWindow = ({
  bytesPerSecondMin,
  windowMs,
  factor = () => 1,
}: MinimumRate): RateWindow => {
  const slices: { bytes: number; ms: number }[] = []
  let bytesSinceSlice = 0
  return {
    bytesPerSecond: (waitingMs = 0) => {
      const totalMs = slices.reduce((sum, slice) => sum + slice.ms, waitingMs)
      const totalBytes = slices.reduce((sum, slice) => sum + slice.bytes, bytesSinceSlice)
      return totalMs === 0 ? Infinity : (totalBytes * 1000) / totalMs
    },
    received: (bytes) => {
      bytesSinceSlice += bytes
    },
    waited: (ms) => {
      slices.push({ bytes: bytesSinceSlice, ms })
      bytesSinceSlice = 0
      let totalMs = slices.reduce((sum, slice) => sum + slice.ms, 0)
      for (
        let [oldest] = slices;
        oldest !== undefined && totalMs - oldest.ms >= windowMs;
        [oldest] = slices
      ) {
        totalMs -= oldest.ms
        slices.shift()
      }
      const totalBytes = slices.reduce((sum, slice) => sum + slice.bytes, 0)
      return totalMs >= windowMs && totalBytes < (bytesPerSecondMin * factor() * totalMs) / 1000
    },
  }
}

export interface RateWatch {
  received: (bytes: number) => void
  /** The rate of the last window. */
  bytesPerSecond: () => number
  /** The time until `resume` is spent processing and does not count. */
  pause: () => void
  resume: () => void
  stop: () => void
}

/** Measures the time spent waiting for a sender from now on, and calls `onTooSlow` when the sender is too slow. */
export const watchRate = (minimum: MinimumRate, onTooSlow: () => void): RateWatch => {
  const window = createRateWindow(minimum)
  const checkEveryMs = Math.min(1_000, minimum.windowMs / 5)
  let waitingSinceMs: number | undefined = performance.now()
  let waitedMs = 0
  const countWait = (isWaiting: boolean) => {
    const nowMs = performance.now()
    if (waitingSinceMs !== undefined) waitedMs += nowMs - waitingSinceMs
    waitingSinceMs = isWaiting ? nowMs : undefined
  }
  const timer = setInterval(() => {
    countWait(waitingSinceMs !== undefined)
    if (waitedMs === 0) return
    // If this process was suspended, the sender is not to blame for that time.
    const isTooSlow = window.waited(Math.min(waitedMs, checkEveryMs * 1.5))
    waitedMs = 0
    if (isTooSlow) onTooSlow()
  }, checkEveryMs)
  return {
    received: window.received,
    bytesPerSecond: () => {
      countWait(waitingSinceMs !== undefined)
      return window.bytesPerSecond(waitedMs)
    },
    pause: () => countWait(false),
    resume: () => countWait(true),
    stop: () => clearInterval(timer),
  }
}

/** Passes the chunks of a sender on. Only the time spent waiting for them counts. */
export async function* atWatchedRate(
  source: AsyncIterable<Buffer>,
  watch: RateWatch,
): AsyncGenerator<Buffer, void> {
  watch.resume()
  for await (const chunk of source) {
    watch.received(chunk.length)
    watch.pause()
    yield chunk
    watch.resume()
  }
  watch.pause()
}
