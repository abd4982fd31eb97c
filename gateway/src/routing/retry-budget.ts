/**
 * Limits retries to a tenth of first attempts, so that retries do not multiply the load of a failing provider. The
 * clock is a parameter.
 */
export interface RetryBudget {
  tokens: number
  /** The time of the last refill. */
  atMs: number
}

export const initialTokens = 10
export const tokensMax = 20
const tokensPerFirst = 0.1
/** Allows some retries at low traffic. */
export const tokenIntervalMs = 2_000

export const newBudget = (nowMs: number): RetryBudget => ({ tokens: initialTokens, atMs: nowMs })

const withTime = ({ tokens, atMs }: RetryBudget, nowMs: number): RetryBudget => ({
  tokens: Math.min(tokensMax, tokens + Math.max(0, nowMs - atMs) / tokenIntervalMs),
  atMs: Math.max(atMs, nowMs),
})

export const afterFirst = (budget: RetryBudget, nowMs: number): RetryBudget => {
  const { tokens, atMs } = withTime(budget, nowMs)
  return { tokens: Math.min(tokensMax, tokens + tokensPerFirst), atMs }
}

/** Returns the budget after a retry, or undefined if no retry is allowed. */
export const afterRetry = (budget: RetryBudget, nowMs: number): RetryBudget | undefined => {
  const { tokens, atMs } = withTime(budget, nowMs)
  // Tenths do not sum to exactly one in floating point.
  return tokens < 1 - 1e-9 ? undefined : { tokens: Math.max(0, tokens - 1), atMs }
}

/** The time until a retry is allowed, without further first attempts. */
export const nextRetryMs = (budget: RetryBudget, nowMs: number): number =>
  Math.max(0, Math.ceil((1 - withTime(budget, nowMs).tokens) * tokenIntervalMs))
