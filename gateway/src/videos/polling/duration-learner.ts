/** Collects observed durations, and writes them in the background. The weight of older ones decays. */
import type { Log } from '../../platform/log.ts'
import { bucketOf, type DurationBucket } from './duration-histogram.ts'

export interface DurationLearner<Key> {
  learn: (key: Key, durationMs: number) => void
  /** Writes what was learned, and then does the given work. */
  flush: (afterwards?: () => Promise<void>) => Promise<void>
  stop: () => Promise<void>
}

/** Adds durations of one key, and multiplies the weight of older ones by `decay`. */
export type AddDurations<Key> = (key: Key, durations: DurationBucket[], decay: number) => Promise<void>

const remembered = 200

export const createDurationLearner = <Key>(
  add: AddDurations<Key>,
  ratio: number,
  log: Log,
  writeEveryMs: number,
): DurationLearner<Key> => {
  let learned = new Map<string, { key: Key; buckets: number[] }>()
  let working: Promise<void> = Promise.resolve()

  const write = async () => {
    const pending = learned
    learned = new Map()
    for (const { key, buckets } of pending.values()) {
      // Exponential decay: the newest one has weight one.
      const decay = 1 - 1 / remembered
      const weights = buckets.map((bucket, index) => ({
        bucket,
        weight: decay ** (buckets.length - 1 - index),
      }))
      const durations = [...Map.groupBy(weights, ({ bucket }) => bucket)].map(([bucket, each]) => ({
        bucket,
        weight: each.reduce((sum, { weight }) => sum + weight, 0),
      }))
      await add(key, durations, decay ** buckets.length)
    }
  }

  // One at a time. Observations that cannot be written are dropped; later ones replace them.
  const sequentially = (work: () => Promise<void>): Promise<void> => {
    working = working.then(work).catch((error: unknown) => log.warn({ err: error }, 'durations.store-failed'))
    return working
  }

  const writing = setInterval(() => {
    if (learned.size > 0) void sequentially(write)
  }, writeEveryMs).unref()

  return {
    learn: (key, durationMs) => {
      const name = JSON.stringify(key)
      const observed = learned.get(name) ?? { key, buckets: [] }
      observed.buckets.push(bucketOf(durationMs, ratio))
      learned.set(name, observed)
    },
    flush: async (afterwards) => {
      await sequentially(write)
      if (afterwards !== undefined) await sequentially(afterwards)
    },
    stop: async () => {
      clearInterval(writing)
      await sequentially(write)
    },
  }
}
