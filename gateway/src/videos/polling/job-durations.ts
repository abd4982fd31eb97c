/**
 * Durations of completed jobs by provider and model. Every process caches the shared statistics in memory. They only tune
 * the polling: without them the default intervals apply.
 */
import type { Log } from '../../platform/log.ts'
import type { Database, Postgres } from '../../platform/postgres.ts'
import { addDuration, readJobDurations, type JobDurationRow } from './job-duration-store.ts'
import { gapShareOf, type DurationPercentiles } from './poll-schedule.ts'

export interface JobDurations {
  /** Undefined until enough jobs were observed. */
  of: (provider: string, model: string) => DurationPercentiles | undefined
  /** Adds a completed job, with the time from its submit to the poll that found it done. */
  learn: (provider: string, model: string, elapsedMs: number) => void
  /** Writes new observations and reads those of other processes at once; for tests. */
  flush: () => Promise<void>
  stop: () => Promise<void>
}

const bucketRatio = 1.25
const jobsRemembered = 200
const jobsNeeded = 8

const bucketOf = (ms: number): number =>
  Math.min(80, Math.max(-40, Math.round(Math.log(Math.max(ms, 1) / 1000) / Math.log(bucketRatio))))

/** A bucket covers the durations half a bucket around it, distributed evenly on a logarithmic scale. */
const quantile = (rows: JobDurationRow[], share: number): number => {
  let left = share * rows.reduce((sum, { weight }) => sum + weight, 0)
  for (const { bucket, weight } of rows) {
    if (left <= weight) return 1000 * bucketRatio ** (bucket - 0.5 + left / weight)
    left -= weight
  }
  return 1000 * bucketRatio ** ((rows.at(-1)?.bucket ?? 0) + 0.5)
}

const percentilesOf = (rows: JobDurationRow[]): DurationPercentiles | undefined =>
  rows.reduce((sum, { weight }) => sum + weight, 0) < jobsNeeded
    ? undefined
    : { p5: quantile(rows, 0.05), p50: quantile(rows, 0.5), p95: quantile(rows, 0.95) }

/**
 * Estimates the duration of a job from the time it was found done. Between two polls the delay is half a gap on average.
 * At the first poll it may be much longer; the lower estimate lets the statistics notice that jobs have become faster.
 */
const likelyDurationMs = (foundAfterMs: number, durations: DurationPercentiles | undefined): number => {
  if (durations !== undefined && foundAfterMs < 1.15 * durations.p5) return foundAfterMs / bucketRatio
  return foundAfterMs / (1 + (durations === undefined ? 0.1 : gapShareOf(durations)) / 2)
}

const keyOf = (provider: string, model: string): string => JSON.stringify([provider, model])

/** The durations observed so far. */
export const loadDurations = async (database: Database): Promise<JobDurations['of']> => {
  const rows = Map.groupBy(await readJobDurations(database), ({ provider, model }) => keyOf(provider, model))
  const known = new Map([...rows].map(([key, each]) => [key, percentilesOf(each)]))
  return (provider, model) => known.get(keyOf(provider, model))
}

export const createJobDurations = (
  { postgres, log }: { postgres: Postgres; log: Log },
  { refreshEveryMs, writeEveryMs } = { refreshEveryMs: 30_000, writeEveryMs: 5_000 },
): JobDurations => {
  let known: JobDurations['of'] = () => undefined
  let learned = new Map<string, { provider: string; model: string; buckets: number[] }>()
  let working: Promise<void> = Promise.resolve()

  const read = async () => {
    known = await loadDurations(postgres)
  }

  const write = async () => {
    const pending = learned
    learned = new Map()
    for (const { provider, model, buckets } of pending.values()) {
      // Exponential decay: the newest job has weight one.
      const decay = 1 - 1 / jobsRemembered
      const weights = buckets.map((bucket, index) => ({
        bucket,
        weight: decay ** (buckets.length - 1 - index),
      }))
      const jobs = [...Map.groupBy(weights, ({ bucket }) => bucket)].map(([bucket, each]) => ({
        bucket,
        weight: each.reduce((sum, { weight }) => sum + weight, 0),
      }))
      await addDuration(postgres, { provider, model }, jobs, decay ** buckets.length)
    }
  }

  // One at a time. Observations that cannot be written are dropped; later jobs replace them.
  const sequentially = (work: () => Promise<void>): Promise<void> => {
    working = working
      .then(work)
      .catch((error: unknown) => log.warn({ err: error }, 'job-durations.store-failed'))
    return working
  }

  void sequentially(read)
  const reading = setInterval(() => void sequentially(read), refreshEveryMs).unref()
  const writing = setInterval(() => {
    if (learned.size > 0) void sequentially(write)
  }, writeEveryMs).unref()

  return {
    of: (provider, model) => known(provider, model),
    learn: (provider, model, elapsedMs) => {
      const key = keyOf(provider, model)
      const observed = learned.get(key) ?? { provider, model, buckets: [] }
      observed.buckets.push(bucketOf(likelyDurationMs(elapsedMs, known(provider, model))))
      learned.set(key, observed)
    },
    flush: async () => {
      await sequentially(write)
      await sequentially(read)
    },
    stop: async () => {
      clearInterval(reading)
      clearInterval(writing)
      await sequentially(write)
    },
  }
}
