const baseMs = 500
const limitMs = 60_000

/**
 * Exponential backoff with full jitter, so that calls that failed together are not repeated together. The wait is never
 * shorter than the provider's Retry-After, plus some jitter. Attempts are counted from 0.
 */
export const backoffMs = (
  attempt: number,
  retryAfterMs: number | undefined,
  random: () => number = Math.random,
): number => {
  const jitteredMs = random() * Math.min(limitMs, baseMs * 2 ** Math.max(0, attempt))
  return retryAfterMs === undefined ? jitteredMs : Math.max(jitteredMs, retryAfterMs + random() * baseMs)
}
