/** How long a task still takes, as a range, from the durations of earlier jobs of its provider and model. */
import type { Range } from '../../routing/queue-position.ts'
import { gapShareOf, type DurationPercentiles } from '../polling/poll-schedule.ts'

/** The durations of most jobs, until the poll that finds them done. */
const jobMs = (durations: DurationPercentiles): Range => ({
  min: durations.p5,
  max: durations.p95 * (1 + gapShareOf(durations)),
})

/** Whole seconds, rounded so that the range does not shrink. */
const inSeconds = ({ min, max }: Range): Range => ({
  min: Math.floor(min / 1000),
  max: Math.ceil(max / 1000),
})

/** Undefined if the job has run longer than almost all others: earlier ones say nothing about it. */
export const timeLeftOfJob = (durations: DurationPercentiles, elapsedMs: number): Range | undefined => {
  const { min, max } = jobMs(durations)
  const elapsed = Math.max(0, elapsedMs)
  return elapsed >= max ? undefined : inSeconds({ min: Math.max(0, min - elapsed), max: max - elapsed })
}

export interface Waited {
  position: Range
  /** Tasks that may be in flight at once. */
  slots: number
  /** Undefined if it was not measured. Then every slot starts its next task when a job ends. */
  startsPerSecond: Range | undefined
}

/** The time until a waiting task has started and its job is done. */
export const timeLeftOfWaiting = (
  durations: DurationPercentiles,
  { position, slots, startsPerSecond }: Waited,
): Range => {
  const job = jobMs(durations)
  const rate = startsPerSecond ?? { min: (slots * 1000) / job.max, max: (slots * 1000) / job.min }
  // In the best case all slots are free now. In the worst one the next start has yet to come.
  const waitMs = {
    min: (Math.max(0, position.min - slots) / rate.max) * 1000,
    max: ((position.max + 1) / rate.min) * 1000,
  }
  return inSeconds({ min: waitMs.min + job.min, max: waitMs.max + job.max })
}
