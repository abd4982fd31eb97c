/**
 * Limits the starts at a provider that has just recovered, so that the backlog does not bring it down again: for one
 * minute at most twice its usual rate, then doubling every minute.
 */
export interface Rate {
  perSecond: number
  atMs: number
  /** The time of the first call. */
  sinceMs: number | undefined
}

/** Time constant of the exponential decay. */
const memorySeconds = 300
/** A shorter observation does not give a usable rate. */
const rateSecondsLeast = 10
const minuteMs = 60_000
/** By then the limit is so high that dropping it makes no difference. */
const rampMs = 10 * minuteMs
const rampLeastPerSecond = 5

export const noRate: Rate = { perSecond: 0, atMs: 0, sinceMs: undefined }

const decayed = ({ perSecond, atMs }: Rate, nowMs: number): number =>
  perSecond * Math.exp(-Math.max(0, nowMs - atMs) / 1000 / memorySeconds)

/** Corrects for the time before the first call, which the decayed sum would count as idle. */
export const rateAt = (rate: Rate, nowMs: number): number => {
  if (rate.sinceMs === undefined) return 0
  const seconds = Math.max(rateSecondsLeast, (nowMs - rate.sinceMs) / 1000)
  return decayed(rate, nowMs) / (1 - Math.exp(-seconds / memorySeconds))
}

export const withCalls = (rate: Rate, count: number, nowMs: number): Rate => ({
  perSecond: decayed(rate, nowMs) + count / memorySeconds,
  atMs: nowMs,
  sinceMs: rate.sinceMs ?? nowMs,
})

export interface Ramp {
  sinceMs: number
  /** The limit in the first minute. */
  perSecond: number
  /** Starts available now. */
  left: number
  atMs: number
}

export const newRamp = (usualPerSecond: number, recoveredAtMs: number, nowMs: number): Ramp => {
  const perSecond = Math.max(rampLeastPerSecond, 2 * usualPerSecond)
  return { sinceMs: recoveredAtMs, perSecond, left: perSecond, atMs: nowMs }
}

/** Refills the token bucket, which holds one second of starts. */
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
