/** When a delivery that failed is tried again. */

/** The pauses after the first, second, … attempt. A delivery without a success after the last one has failed. */
export const retryPausesSeconds = [5, 30, 120, 900, 3_600, 21_600, 86_400] as const

/** A delivery that was attempted so often is not sent again on request, because attempts cost the customer nothing. */
export const attemptsMax = 100

const jitter = 0.1
/** No longer than the longest pause, so that a receiver cannot keep deliveries forever. */
const pauseSecondsMax = 86_400

export interface RetrySchedule {
  pausesSeconds: readonly number[]
  /** From 0 to 1, for tests. */
  random?: () => number
}

/**
 * The seconds until the next attempt, after `attempts` of them; undefined if there is none. A receiver may ask for a longer
 * pause, but not for a shorter one.
 */
export const nextPauseSeconds = (
  { pausesSeconds, random = Math.random }: RetrySchedule,
  attempts: number,
  retryAfterSeconds = 0,
): number | undefined => {
  const pause = pausesSeconds[attempts - 1]
  if (pause === undefined) return undefined
  return Math.max(pause * (1 + jitter * (2 * random() - 1)), Math.min(retryAfterSeconds, pauseSecondsMax))
}
