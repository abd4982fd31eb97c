/**
 * Durations of completed jobs by provider and model. Every process caches the shared statistics in memory. They only tune
 * the polling: without them the default intervals apply.
 */
import type { Log } from '../../platform/log.ts'
import type { Database, Postgres } from '../../platform/postgres.ts'
import { histogramOf, quantileOf, weightOf, type DurationHistogram } from './duration-histogram.ts'
import { createDurationLearner } from './duration-learner.ts'
import { addDuration, readJobDurations } from './job-duration-store.ts'
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
const jobsNeeded = 8

const percentilesOf = (histogram: DurationHistogram): DurationPercentiles | undefined =>
  weightOf(histogram) < jobsNeeded
    ? undefined
    : {
        p5: quantileOf(histogram, 0.05),
        p50: quantileOf(histogram, 0.5),
        p95: quantileOf(histogram, 0.95),
      }

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
  const known = new Map([...rows].map(([key, each]) => [key, percentilesOf(histogramOf(bucketRatio, each))]))
  return (provider, model) => known.get(keyOf(provider, model))
}

export const createJobDurations = (
  { postgres, log }: { postgres: Postgres; log: Log },
  { refreshEveryMs, writeEveryMs } = { refreshEveryMs: 30_000, writeEveryMs: 5_000 },
): JobDurations => {
  let known: JobDurations['of'] = () => undefined
  const learner = createDurationLearner<{ provider: string; model: string }>(
    (key, jobs, decay) => addDuration(postgres, key, jobs, decay),
    bucketRatio,
    log,
    writeEveryMs,
  )
  const read = async () => {
    known = await loadDurations(postgres)
  }
  const readInBackground = () => {
    read().catch((error: unknown) => log.warn({ err: error }, 'job-durations.not-read'))
  }

  readInBackground()
  const reading = setInterval(readInBackground, refreshEveryMs).unref()

  return {
    of: (provider, model) => known(provider, model),
    learn: (provider, model, elapsedMs) =>
      learner.learn({ provider, model }, likelyDurationMs(elapsedMs, known(provider, model))),
    flush: () => learner.flush(read),
    stop: async () => {
      clearInterval(reading)
      await learner.stop()
    },
  }
}
