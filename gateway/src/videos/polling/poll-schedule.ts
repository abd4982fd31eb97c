/** When to poll a job again, and its estimated progress if the provider reports none. */

interface Bounds {
  least: number
  most: number
}

/** Percentiles of the durations of a model's jobs at a provider, in ms. */
export interface DurationPercentiles {
  p5: number
  p50: number
  p95: number
}

/** The gap to the next poll, as a share of the job's age. On average a job ends halfway into a gap, so it is found 4.5 % late. */
const gapShare = 0.09
/** If durations vary so much that this many polls between p5 and p95 are not enough, the gaps become wider. */
const usualPollsMax = 18
/** A refusal comes early, however long jobs usually take, so the first poll waits at most this long, or a quarter of p5. */
const longestQuietMs = 60_000
const webhookGraceMs = 60_000

/** Adds jitter, so that jobs submitted together are not polled together. */
const spread = (ms: number, random: () => number): number => ms * (0.9 + 0.2 * random())

/** The poll meant for p5 may come up to a fifth early because of the jitter. */
const isBeforeUsual = (elapsedMs: number, { p5 }: DurationPercentiles): boolean => elapsedMs < 0.8 * p5

/** The gap as a share of the job's age, between p5 and p95. */
export const gapShareOf = ({ p5, p95 }: DurationPercentiles): number =>
  Math.max(gapShare, (p95 / p5) ** (1 / usualPollsMax) - 1)

const expectedGapMs = (elapsedMs: number, { most }: Bounds, durations: DurationPercentiles): number => {
  if (isBeforeUsual(elapsedMs, durations)) {
    return Math.min(durations.p5 - elapsedMs, Math.max(longestQuietMs, durations.p5 / 4))
  }
  const share = gapShareOf(durations)
  if (elapsedMs <= durations.p95) return share * elapsedMs
  return Math.min(Math.max(most, share * durations.p95), share * elapsedMs * (elapsedMs / durations.p95))
}

/**
 * Without known durations, polls are frequent at first, because refusals and short jobs end quickly, and then become
 * rarer within the provider's bounds. With known durations, the first poll comes when jobs start to complete. Further
 * polls find them about 5 % of their duration late, and jobs beyond p95 are polled more and more rarely. `most` does not
 * apply between p5 and p95, because polling an hour-long job every few seconds is useless.
 */
export const nextPollMs = (
  elapsedMs: number,
  bounds: Bounds,
  durations?: DurationPercentiles,
  random: () => number = Math.random,
): number =>
  durations === undefined
    ? Math.min(bounds.most, Math.max(bounds.least, elapsedMs / 10))
    : Math.max(bounds.least, spread(expectedGapMs(elapsedMs, bounds, durations), random))

/** For a provider with webhooks: rare polls in case a webhook was lost, the first after most jobs are done. */
export const fallbackPollMs = (
  elapsedMs: number,
  bounds: Bounds,
  durations?: DurationPercentiles,
  random: () => number = Math.random,
): number => {
  const overdueMs = durations === undefined ? 0 : durations.p95 * 1.5 - elapsedMs
  return Math.max(
    bounds.least,
    webhookGraceMs,
    spread(Math.max(overdueMs, bounds.most, elapsedMs / 2), random),
  )
}

/** The delay until the next poll of a provider's job. */
export const nextPollDelayMs = (
  provider: { pollIntervalMs: Bounds; sendsWebhooks: boolean },
  elapsedMs: number,
  durations: DurationPercentiles | undefined,
): number =>
  (provider.sendsWebhooks ? fallbackPollMs : nextPollMs)(elapsedMs, provider.pollIntervalMs, durations)

/**
 * The delay after a failed poll: the provider's Retry-After, up to a minute, or a random time between twice the least
 * interval and the longest, so that many jobs are not polled at once.
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

const hintMsMin = 1_000
/** While the task may end at any moment, or if nothing is known about it. */
const hintMsUsual = 5_000
/** While earlier tasks say that it does not end yet: what ends unexpectedly, such as a refusal, is noticed this late. */
const hintMsMax = 15_000
/** How many polls fit into the time in which nine of ten tasks end. */
const hintsInRange = 10

const within = (ms: number, min: number, max: number) => Math.round(Math.min(max, Math.max(min, ms)))

/**
 * The poll delay suggested to API clients. With an estimate of the seconds left, it leads to the time from which the task may
 * end, and then to polls in short intervals. It is short while a task is young, because refusals come early. Without an
 * estimate it is also short near the usual end.
 */
export const pollAfterMs = (
  elapsedMs: number,
  progress: number,
  usualSeconds: number,
  timeLeftSeconds?: { min: number; max: number },
): number => {
  if (timeLeftSeconds === undefined) {
    const remainingMs = usualSeconds * 1000 * (1 - progress / 100)
    return within(Math.min(elapsedMs, remainingMs) / 10, hintMsMin, hintMsUsual)
  }
  const { min, max } = timeLeftSeconds
  const intervalMs = within(((max - min) * 1000) / hintsInRange, hintMsMin, hintMsUsual)
  const youngMs = Math.max(hintMsMin, elapsedMs / 2)
  return within(Math.max(min * 1000, intervalMs), hintMsMin, Math.min(hintMsMax, youngMs))
}

/** Estimates by known durations, with 80 at p50 and 95 at p95; otherwise by the model's usual duration. */
export const estimateProgress = (
  elapsedMs: number,
  usualSeconds: number,
  durations?: DurationPercentiles,
): number => {
  if (durations === undefined) return Math.min(95, Math.floor((elapsedMs / (usualSeconds * 1000)) * 100))
  if (elapsedMs <= durations.p50) return Math.floor((80 * elapsedMs) / durations.p50)
  return Math.min(
    95,
    Math.floor(80 + (15 * (elapsedMs - durations.p50)) / Math.max(1, durations.p95 - durations.p50)),
  )
}
