/**
 * How fast work goes back to a provider that has just recovered: for a minute at most at twice the rate that was usual
 * before, then faster and faster, so that what gathered meanwhile does not bring it down again.
 */
export interface Rate {
  perSecond: number
  atMs: number
  /** The first call; undefined before there was one. */
  sinceMs: number | undefined
}

/** Older calls count less and less, by this time constant. */
const memorySeconds = 300
/** Calls of a shorter time than this say little about a rate. */
const rateSecondsLeast = 10
/** From the end of the first one on, the rate doubles with every minute. */
const minuteMs = 60_000
/** By then it is so high that its end is no leap. */
const rampMs = 10 * minuteMs
const rampLeastPerSecond = 5

export const noRate: Rate = { perSecond: 0, atMs: 0, sinceMs: undefined }

const decayed = ({ perSecond, atMs }: Rate, nowMs: number): number =>
  perSecond * Math.exp(-Math.max(0, nowMs - atMs) / 1000 / memorySeconds)

/** Of the time since the first call, however short: what was never seen is not taken for silence. */
export const rateAt = (rate: Rate, nowMs: number): number => {
  if (rate.sinceMs === undefined) return 0
  const seconds = Math.max(rateSecondsLeast, (nowMs - rate.sinceMs) / 1000)
  return decayed(rate, nowMs) / (1 - Math.exp(-seconds / memorySeconds))
}

export const withCall = (rate: Rate, nowMs: number): Rate => ({
  perSecond: decayed(rate, nowMs) + 1 / memorySeconds,
  atMs: nowMs,
  sinceMs: rate.sinceMs ?? nowMs,
})

export interface Ramp {
  sinceMs: number
  /** In the first minute. */
  perSecond: number
  /** Starts that may be made at once. */
  left: number
  atMs: number
}

export const newRamp = (usualPerSecond: number, recoveredAtMs: number, nowMs: number): Ramp => {
  const perSecond = Math.max(rampLeastPerSecond, 2 * usualPerSecond)
  return { sinceMs: recoveredAtMs, perSecond, left: perSecond, atMs: nowMs }
}

/** What of it is left, at most what a second brings. */
const refilled = (ramp: Ramp, nowMs: number): Ramp => {
  const perSecond = ramp.perSecond * 2 ** Math.max(0, (nowMs - ramp.sinceMs) / minuteMs - 1)
  return {
    ...ramp,
    left: Math.min(perSecond, ramp.left + (Math.max(0, nowMs - ramp.atMs) / 1000) * perSecond),
    atMs: Math.max(ramp.atMs, nowMs),
  }
}

const isOver = ({ sinceMs }: Ramp, nowMs: number): boolean => nowMs >= sinceMs + rampMs

export const startsLeft = (ramp: Ramp | undefined, nowMs: number): number =>
  ramp === undefined || isOver(ramp, nowMs) ? Infinity : Math.max(0, Math.floor(refilled(ramp, nowMs).left))

export const withStarts = (ramp: Ramp | undefined, count: number, nowMs: number): Ramp | undefined => {
  if (ramp === undefined || isOver(ramp, nowMs)) return undefined
  const { left, ...rest } = refilled(ramp, nowMs)
  return { ...rest, left: left - count }
}
