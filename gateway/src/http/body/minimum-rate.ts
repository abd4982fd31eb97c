/**
 * Detects a sender that is too slow: it sent less than the minimum in the last seconds of waiting for it. The window
 * slides, so a fast start does not make up for a later stall. Time spent processing received bytes does not count.
 */
export interface MinimumRate {
  bytesPerSecondMin: number
  windowMs: number
}

export interface RateWindow {
  received: (bytes: number) => void
  /** Adds waiting time; returns true if the sender is too slow. */
  waited: (ms: number) => boolean
}

export const createRateWindow = ({ bytesPerSecondMin, windowMs }: MinimumRate): RateWindow => {
  const slices: { bytes: number; ms: number }[] = []
  let bytesSinceSlice = 0
  return {
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
      return totalMs >= windowMs && totalBytes < (bytesPerSecondMin * totalMs) / 1000
    },
  }
}
