/**
 * How long jobs take, by provider and model, learned from those that were done. Every process keeps what all of them have
 * learned in memory; nothing waits for it, and without it checks come as often as they did before anything was known.
 */
import type { Log } from '../../platform/log.ts'
import type { Postgres } from '../../platform/postgres.ts'
import { addDuration, readJobDurations, type JobDurationRow } from './job-duration-store.ts'
import { gapShareOf, type JobDuration } from './poll-schedule.ts'

export interface JobDurations {
  /** Undefined until enough jobs were seen. */
  of: (provider: string, model: string) => JobDuration | undefined
  /** Told of every job that was found done, and how long after its submit that was. */
  learn: (provider: string, model: string, elapsedMs: number) => void
  /** Writes what was learned and reads what others did, for who cannot wait. */
  flush: () => Promise<void>
  stop: () => Promise<void>
}

const bucketRatio = 1.25
const jobsRemembered = 200
const jobsNeeded = 8

const bucketOf = (ms: number): number =>
  Math.min(80, Math.max(-40, Math.round(Math.log(Math.max(ms, 1) / 1000) / Math.log(bucketRatio))))

/** A bucket covers half a bucket on each side of its length. Lengths are spread evenly within it on a logarithmic scale. */
const quantile = (rows: JobDurationRow[], share: number): number => {
  let left = share * rows.reduce((sum, { weight }) => sum + weight, 0)
  for (const { bucket, weight } of rows) {
    if (left <= weight) return 1000 * bucketRatio ** (bucket - 0.5 + left / weight)
    left -= weight
  }
  return 1000 * bucketRatio ** ((rows.at(-1)?.bucket ?? 0) + 0.5)
}

const jobDurationOf = (rows: JobDurationRow[]): JobDuration | undefined =>
  rows.reduce((sum, { weight }) => sum + weight, 0) < jobsNeeded
    ? undefined
    : { p5: quantile(rows, 0.05), p50: quantile(rows, 0.5), p95: quantile(rows, 0.95) }

/**
 * A job is found done some time after it was. Between two looks that is half a gap on average; at the first look it may be
 * much more, and only by guessing lower can it be noticed that jobs have become quicker than that look.
 */
const likelyLengthMs = (foundAfterMs: number, pace: JobDuration | undefined): number => {
  if (pace !== undefined && foundAfterMs < 1.15 * pace.p5) return foundAfterMs / bucketRatio
  return foundAfterMs / (1 + (pace === undefined ? 0.1 : gapShareOf(pace)) / 2)
}

const keyOf = (provider: string, model: string): string => JSON.stringify([provider, model])

export const createJobDurations = (
  { postgres, log }: { postgres: Postgres; log: Log },
  { refreshEveryMs, writeEveryMs } = { refreshEveryMs: 30_000, writeEveryMs: 5_000 },
): JobDurations => {
  let known = new Map<string, JobDuration>()
  let learned = new Map<string, { provider: string; model: string; buckets: number[] }>()
  let working: Promise<void> = Promise.resolve()

  const read = async () => {
    const rows = Map.groupBy(await readJobDurations(postgres), ({ provider, model }) =>
      keyOf(provider, model),
    )
    known = new Map(
      [...rows].flatMap(([key, each]) => {
        const pace = jobDurationOf(each)
        return pace === undefined ? [] : [[key, pace]]
      }),
    )
  }

  const write = async () => {
    const taken = learned
    learned = new Map()
    for (const { provider, model, buckets } of taken.values()) {
      // The newest job counts one, and every job before it a little less than the one after it.
      const kept = 1 - 1 / jobsRemembered
      const weights = buckets.map((bucket, index) => ({
        bucket,
        weight: kept ** (buckets.length - 1 - index),
      }))
      const jobs = [...Map.groupBy(weights, ({ bucket }) => bucket)].map(([bucket, each]) => ({
        bucket,
        weight: each.reduce((sum, { weight }) => sum + weight, 0),
      }))
      await addDuration(postgres, { provider, model }, jobs, kept ** buckets.length)
    }
  }

  // One after the other; what cannot be written is lost, because the next jobs tell the same.
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    working = working
      .then(work)
      .catch((error: unknown) => log.warn({ err: error }, 'job-durations.not-stored'))
    return working
  }

  void inTurn(read)
  const reading = setInterval(() => void inTurn(read), refreshEveryMs).unref()
  const writing = setInterval(() => {
    if (learned.size > 0) void inTurn(write)
  }, writeEveryMs).unref()

  const of: JobDurations['of'] = (provider, model) => known.get(keyOf(provider, model))
  return {
    of,
    learn: (provider, model, elapsedMs) => {
      const key = keyOf(provider, model)
      const entry = learned.get(key) ?? { provider, model, buckets: [] }
      entry.buckets.push(bucketOf(likelyLengthMs(elapsedMs, known.get(key))))
      learned.set(key, entry)
    },
    flush: async () => {
      await inTurn(write)
      await inTurn(read)
    },
    stop: async () => {
      clearInterval(reading)
      clearInterval(writing)
      await inTurn(write)
    },
  }
}
