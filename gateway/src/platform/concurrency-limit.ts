import pLimit, { type LimitFunction } from 'p-limit'

/**
 * Limits how many callers of the same key may be active at once. It resolves to a function that ends the caller's
 * activity. A caller whose signal aborts while it waits is rejected at once, and the next caller gets its slot.
 */
export const concurrencyLimitPerKey = (count: number) => {
  const lanes = new Map<string, { limit: LimitFunction; callers: number }>()
  return async (key: string, signal?: AbortSignal): Promise<() => void> => {
    signal?.throwIfAborted()
    const lane = lanes.get(key) ?? { limit: pLimit(count), callers: 0 }
    lanes.set(key, lane)
    lane.callers += 1
    const started = Promise.withResolvers<void>()
    const ended = Promise.withResolvers<void>()
    const abandon = () => {
      ended.resolve()
      started.reject(signal?.reason)
    }
    signal?.addEventListener('abort', abandon)
    void lane.limit(async () => {
      started.resolve()
      await ended.promise
      lane.callers -= 1
      if (lane.callers === 0) lanes.delete(key)
    })
    try {
      await started.promise
      return ended.resolve
    } finally {
      signal?.removeEventListener('abort', abandon)
    }
  }
}
