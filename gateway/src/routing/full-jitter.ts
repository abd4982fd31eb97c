const baseMs = 500
const mostMs = 60_000

/**
 * How long to wait before the next attempt, the first being number 0: any time up to a most that doubles, so that those
 * who failed together do not come back together. Never earlier than a provider asked for, and then a little apart.
 */
export const backoffMs = (
  attempt: number,
  retryAfterMs: number | undefined,
  random: () => number = Math.random,
): number => {
  const jitteredMs = random() * Math.min(mostMs, baseMs * 2 ** Math.max(0, attempt))
  return retryAfterMs === undefined ? jitteredMs : Math.max(jitteredMs, retryAfterMs + random() * baseMs)
}
