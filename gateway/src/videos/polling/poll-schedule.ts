/** When to look at a job again, and how far along to say it is where its provider does not tell. */

interface Bounds {
  least: number
  most: number
}

/** How long jobs of a model take at a provider, in ms: a twentieth are done by `p5`, half by `p50`, most by `p95`. */
export interface JobDuration {
  p5: number
  p50: number
  p95: number
}

/** Of a job's age. Jobs end halfway into a gap on average, so most are found less than a twentieth of their length late. */
const gapShare = 0.09
/** Where lengths differ so much that these would not do, gaps are wider and jobs are found later. */
const usualPollsMax = 18
/** A refusal comes early, whatever jobs usually take; it is not left waiting for longer than this, or a quarter of p5. */
const longestQuietMs = 60_000
const webhookGraceMs = 60_000

/** Jobs that were submitted together are not looked at together. */
const spread = (ms: number, random: () => number): number => ms * (0.9 + 0.2 * random())

/** The look that was meant for p5 may come a little before it, and is that look all the same. */
const isBeforeUsual = (elapsedMs: number, { p5 }: JobDuration): boolean => elapsedMs < 0.8 * p5

/** The share of a job's age that its gaps have between p5 and p95. */
export const gapShareOf = ({ p5, p95 }: JobDuration): number =>
  Math.max(gapShare, (p95 / p5) ** (1 / usualPollsMax) - 1)

const expectedGapMs = (elapsedMs: number, { most }: Bounds, pace: JobDuration): number => {
  if (isBeforeUsual(elapsedMs, pace)) {
    return Math.min(pace.p5 - elapsedMs, Math.max(longestQuietMs, pace.p5 / 4))
  }
  const share = gapShareOf(pace)
  if (elapsedMs <= pace.p95) return share * elapsedMs
  return Math.min(Math.max(most, share * pace.p95), share * elapsedMs * (elapsedMs / pace.p95))
}

/**
 * Without a pace: often at first, when a refusal or a short job ends quickly, then ever more seldom, within the
 * provider's bounds. With one: first when jobs begin to be done, then so that they are found a twentieth of their length
 * late on average, and those that take unusually long ever more seldom. `most` does not bind between p5 and p95: a look
 * every few seconds at a job of an hour tells nothing.
 */
export const nextPollMs = (
  elapsedMs: number,
  bounds: Bounds,
  pace?: JobDuration,
  random: () => number = Math.random,
): number =>
  pace === undefined
    ? Math.min(bounds.most, Math.max(bounds.least, elapsedMs / 10))
    : Math.max(bounds.least, spread(expectedGapMs(elapsedMs, bounds, pace), random))

/** For a provider that brings its news: only in case they were lost, so after most jobs are done, and seldom. */
export const safetyPollMs = (
  elapsedMs: number,
  bounds: Bounds,
  pace?: JobDuration,
  random: () => number = Math.random,
): number => {
  const overdueMs = pace === undefined ? 0 : pace.p95 * 1.5 - elapsedMs
  return Math.max(
    bounds.least,
    webhookGraceMs,
    spread(Math.max(overdueMs, bounds.most, elapsedMs / 2), random),
  )
}

/** When to look at a job of a provider again. */
export const nextLookMs = (
  provider: { pollIntervalMs: Bounds; sendsWebhooks: boolean },
  elapsedMs: number,
  pace: JobDuration | undefined,
): number => (provider.sendsWebhooks ? safetyPollMs : nextPollMs)(elapsedMs, provider.pollIntervalMs, pace)

/**
 * After failed checks a provider is left alone for longer, as its answer asks, but is never given up. Anywhere between
 * twice the least and the most, so that many jobs do not come back at once.
 */
export const afterFailureMs = (
  retryAfterMs: number | undefined,
  { least, most }: Bounds,
  random: () => number = Math.random,
) => {
  const longestMs = Math.max(most, least * 2)
  const soonMs = least * 2 + random() * (longestMs - least * 2)
  return Math.min(Math.max(retryAfterMs ?? 0, soonMs), Math.max(longestMs, 60_000))
}

/**
 * How long a reader does best to wait before the next look: not long while a task is young, when a refusal or a
 * short job ends quickly, nor when little is left of the usual time; up to five seconds in between.
 */
export const pollAfterMs = (elapsedMs: number, progress: number, usualSeconds: number): number => {
  const remainingMs = usualSeconds * 1000 * (1 - progress / 100)
  return Math.round(Math.min(5_000, Math.max(1_000, Math.min(elapsedMs, remainingMs) / 10)))
}

/** By the pace where it is known: half of all jobs see 80, and nearly all of them 95. Else by the usual time. */
export const estimateProgress = (elapsedMs: number, usualSeconds: number, pace?: JobDuration): number => {
  if (pace === undefined) return Math.min(95, Math.floor((elapsedMs / (usualSeconds * 1000)) * 100))
  if (elapsedMs <= pace.p50) return Math.floor((80 * elapsedMs) / pace.p50)
  return Math.min(95, Math.floor(80 + (15 * (elapsedMs - pace.p50)) / Math.max(1, pace.p95 - pace.p50)))
}
