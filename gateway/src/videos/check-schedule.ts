/** When to look at a job again, and how far along to say it is where its provider does not tell. */

/** Often at first, when a refusal or a short job ends quickly, then ever more seldom, within the provider's bounds. */
export const nextCheckMs = (elapsedMs: number, { least, most }: { least: number; most: number }): number =>
  Math.min(most, Math.max(least, elapsedMs / 10))

/** After failed checks a provider is left alone for longer, as its answer asks, but is never given up. */
export const afterFailureMs = (
  retryAfterMs: number | undefined,
  { least, most }: { least: number; most: number },
) => Math.min(Math.max(retryAfterMs ?? 0, least * 2), Math.max(most, 60_000))

/**
 * How long a reader does best to wait before the next look: not long while a task is young, when a refusal or a
 * short job ends quickly, nor when little is left of the usual time; up to five seconds in between.
 */
export const pollAfterMs = (elapsedMs: number, progress: number, usualSeconds: number): number => {
  const remainingMs = usualSeconds * 1000 * (1 - progress / 100)
  return Math.round(Math.min(5_000, Math.max(1_000, Math.min(elapsedMs, remainingMs) / 10)))
}

export const estimateProgress = (elapsedMs: number, usualSeconds: number): number =>
  Math.min(95, Math.floor((elapsedMs / (usualSeconds * 1000)) * 100))
