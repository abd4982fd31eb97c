/**
 * Compares the duration of a recording that a provider reports with the one that we measured and charged. A difference
 * shows a recording that is made to cost too little, or a provider that charges for another duration.
 */
import type { Log } from '../platform/log.ts'
import type { Database } from '../platform/postgres.ts'
import { countDurationMismatch } from './duration-mismatch-store.ts'

interface ComparedDuration {
  provider: string
  model: string
  /** The request or the task. */
  id: string
  measuredSeconds: number
  /** Undefined if the provider reports none. */
  reportedSeconds: number | undefined
}

/** Logs and counts a mismatch. Neither waits for it nor fails. */
export type CompareDurations = (compared: ComparedDuration) => void

/** Providers round, and resampling adds some samples. */
const toleranceOf = (seconds: number) => 1 + seconds * 0.02

export const createCompareDurations =
  ({ database, log }: { database: Database; log: Log }): CompareDurations =>
  ({ measuredSeconds, reportedSeconds, ...where }) => {
    if (reportedSeconds === undefined) return
    if (Math.abs(reportedSeconds - measuredSeconds) <= toleranceOf(measuredSeconds)) return
    log.warn({ ...where, measuredSeconds, reportedSeconds }, 'recording.duration-mismatch')
    countDurationMismatch(database, where.provider).catch((error: unknown) =>
      log.warn({ err: error, ...where }, 'recording.mismatch-not-counted'),
    )
  }
