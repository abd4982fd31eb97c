/**
 * How many calls may be repeated: a tenth of those made for the first time, so that a provider in trouble is not given
 * many times the work it cannot do. Nothing here looks at a clock of its own.
 */
export interface RetryBudget {
  saved: number
  /** Up to when time was counted. */
  atMs: number
}

export const savedAtFirst = 10
export const savedMost = 20
const earnedPerFirst = 0.1
/** So that a service with little to do can repeat anything at all. */
export const earnedEveryMs = 2_000

export const newBudget = (nowMs: number): RetryBudget => ({ saved: savedAtFirst, atMs: nowMs })

const withTime = ({ saved, atMs }: RetryBudget, nowMs: number): RetryBudget => ({
  saved: Math.min(savedMost, saved + Math.max(0, nowMs - atMs) / earnedEveryMs),
  atMs: Math.max(atMs, nowMs),
})

export const afterFirst = (budget: RetryBudget, nowMs: number): RetryBudget => {
  const { saved, atMs } = withTime(budget, nowMs)
  return { saved: Math.min(savedMost, saved + earnedPerFirst), atMs }
}

/** What is left after a retry; undefined where none may be made. */
export const afterRetry = (budget: RetryBudget, nowMs: number): RetryBudget | undefined => {
  const { saved, atMs } = withTime(budget, nowMs)
  // What is earned in tenths does not sum to one exactly.
  return saved < 1 - 1e-9 ? undefined : { saved: Math.max(0, saved - 1), atMs }
}

/** How long it takes until one more can be made, if nothing else is earned. */
export const nextRetryMs = (budget: RetryBudget, nowMs: number): number =>
  Math.max(0, Math.ceil((1 - withTime(budget, nowMs).saved) * earnedEveryMs))
