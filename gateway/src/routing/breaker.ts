/**
 * When a provider is left alone with a model, and for how long. It opens after failures, is tried again by one call at
 * a time once its time is over, and closes when such a call goes well. Pure: clock and chance are handed in.
 */
import type { CallOutcome } from './route.ts'

export interface Breaker {
  /** Failures since the last success, or since it closed. */
  row: number
  /** Calls and failures of the last seconds, by the second, oldest first. */
  recent: { second: number; calls: number; failures: number }[]
  /** Since when it has been saying nothing but that it is busy. */
  busySinceMs: number | undefined
  /** Until then it asked to be left alone. */
  waitUntilMs: number
  /** Set while it is open; past that time it is half open. */
  open: { untilMs: number; reason: string; isUnauthorized: boolean } | undefined
  /** How often it opened in a row. */
  openings: number
  recoveredAtMs: number | undefined
}

export interface CallEnd {
  outcome: CallOutcome
  retryAfterMs?: number | undefined
  /** Whether it was the one call that tries an unhealthy provider. */
  isProbe: boolean
}

const rowMax = 5
const windowSeconds = 30
const windowCallsLeast = 20
const openMsLeast = 5_000
/** So that one that is well again is found so within a minute, however long it ailed. */
export const openMsMost = 30_000
/** A provider that is short of capacity serves others; only after so long it counts as one that serves nobody. */
const busyMsMost = 10_000
/** For who says that they are busy and not for how long. */
const waitMsUsual = 1_000
/** After that it is asked again, whatever it said. */
const waitMsMost = 600_000
/** An opening so soon after a recovery goes on from the one before. */
export const recoveringMs = 60_000

export const newBreaker = (): Breaker => ({
  row: 0,
  recent: [],
  busySinceMs: undefined,
  waitUntilMs: 0,
  open: undefined,
  openings: 0,
  recoveredAtMs: undefined,
})

const failureWords: Record<Exclude<CallOutcome, 'ok'>, string> = {
  not_delivered: 'not delivered',
  unknown: 'no clear answer',
  busy: 'busy',
  unauthorized: 'credential refused',
  rejected: 'rejected',
  moderated: 'moderated',
}

/** Who refuses a job for what it is has understood it, and is well. */
const isFailure = (outcome: CallOutcome): outcome is 'not_delivered' | 'unknown' | 'busy' =>
  outcome === 'not_delivered' || outcome === 'unknown' || outcome === 'busy'

const counted = (recent: Breaker['recent'], isFailed: boolean, nowMs: number): Breaker['recent'] => {
  const second = Math.floor(nowMs / 1000)
  const kept = recent.filter((each) => each.second > second - windowSeconds)
  const last = kept.at(-1)
  const failures = isFailed ? 1 : 0
  if (last === undefined || last.second < second) return [...kept, { second, calls: 1, failures }]
  return [
    ...kept.slice(0, -1),
    { second: last.second, calls: last.calls + 1, failures: last.failures + failures },
  ]
}

/** Why it must open, in words; undefined where it need not. */
const reasonToOpen = (row: number, recent: Breaker['recent'], words: string): string | undefined => {
  if (row >= rowMax) return `${row} failures in a row (${words})`
  const calls = recent.reduce((sum, each) => sum + each.calls, 0)
  const failures = recent.reduce((sum, each) => sum + each.failures, 0)
  if (calls < windowCallsLeast || failures * 2 < calls) return undefined
  return `${failures} of ${calls} calls within ${windowSeconds} s failed (${words})`
}

const isRecovering = ({ recoveredAtMs }: Breaker, nowMs: number) =>
  recoveredAtMs !== undefined && nowMs - recoveredAtMs < recoveringMs

const opened = (
  breaker: Breaker,
  cause: { reason: string; isUnauthorized: boolean },
  nowMs: number,
  random: () => number,
): Breaker => {
  const earlier = breaker.open !== undefined || isRecovering(breaker, nowMs) ? breaker.openings : 0
  const openMs = Math.min(openMsMost, openMsLeast * 2 ** earlier) * (0.8 + 0.4 * random())
  return { ...breaker, open: { untilMs: nowMs + openMs, ...cause }, openings: earlier + 1 }
}

/** As it is once it was found well; what was counted before tells nothing any more. */
export const closed = (breaker: Breaker, recoveredAtMs: number | undefined): Breaker => ({
  ...newBreaker(),
  waitUntilMs: breaker.waitUntilMs,
  openings: breaker.openings,
  recoveredAtMs,
})

const afterFailure = (
  breaker: Breaker,
  { outcome, retryAfterMs, isProbe }: CallEnd & { outcome: 'not_delivered' | 'unknown' | 'busy' },
  nowMs: number,
  random: () => number,
): Breaker => {
  const askedUntilMs = outcome === 'busy' ? nowMs + Math.min(waitMsMost, retryAfterMs ?? waitMsUsual) : 0
  const waiting = { ...breaker, waitUntilMs: Math.max(breaker.waitUntilMs, askedUntilMs) }
  const words = failureWords[outcome]
  if (breaker.open !== undefined) {
    // The end of a call that was made before it opened tells nothing new.
    if (!isProbe) return waiting
    const row = breaker.row + 1
    const reason = `${row} failures in a row (${words})`
    return opened({ ...waiting, row }, { reason, isUnauthorized: false }, nowMs, random)
  }
  const busySinceMs = outcome === 'busy' ? (breaker.busySinceMs ?? nowMs) : breaker.busySinceMs
  if (outcome === 'busy' && nowMs - (busySinceMs ?? nowMs) < busyMsMost) return { ...waiting, busySinceMs }
  const row = breaker.row + 1
  const recent = counted(breaker.recent, true, nowMs)
  const reason = reasonToOpen(row, recent, words)
  const failed = { ...waiting, busySinceMs, row, recent }
  return reason === undefined ? failed : opened(failed, { reason, isUnauthorized: false }, nowMs, random)
}

/** One refusal of our credential is enough: every other call would be refused as well. */
const afterRefusedCredential = (
  breaker: Breaker,
  isProbe: boolean,
  nowMs: number,
  random: () => number,
): Breaker => {
  // The end of a call that was made before it opened tells nothing new.
  if (breaker.open !== undefined && !isProbe) return breaker
  const cause = { reason: failureWords.unauthorized, isUnauthorized: true }
  return opened({ ...breaker, row: breaker.row + 1 }, cause, nowMs, random)
}

export const afterCall = (
  breaker: Breaker,
  end: CallEnd,
  nowMs: number,
  random: () => number = Math.random,
): Breaker => {
  const { outcome } = end
  if (outcome === 'unauthorized') return afterRefusedCredential(breaker, end.isProbe, nowMs, random)
  if (isFailure(outcome)) return afterFailure(breaker, { ...end, outcome }, nowMs, random)
  if (breaker.open !== undefined) return nowMs < breaker.open.untilMs ? breaker : closed(breaker, nowMs)
  return { ...breaker, row: 0, busySinceMs: undefined, recent: counted(breaker.recent, false, nowMs) }
}

/** How it stands. Half open, somebody may find out whether it is well. */
export const standingOf = (
  { open, waitUntilMs }: Breaker,
  nowMs: number,
): { kind: 'closed' | 'open' | 'half open' | 'waiting'; reason: string; forMs: number } => {
  const waitMs = Math.max(0, waitUntilMs - nowMs)
  const openMs = Math.max(0, (open?.untilMs ?? 0) - nowMs)
  if (open !== undefined && openMs > 0 && openMs >= waitMs) {
    return {
      kind: 'open',
      reason: `breaker open for another ${inSeconds(openMs)}: ${open.reason}`,
      forMs: openMs,
    }
  }
  if (waitMs > 0) {
    return {
      kind: open === undefined ? 'waiting' : 'open',
      reason: `asked to wait ${inSeconds(waitMs)}`,
      forMs: waitMs,
    }
  }
  if (open === undefined) return { kind: 'closed', reason: '', forMs: 0 }
  return { kind: 'half open', reason: `to be tried again after ${open.reason}`, forMs: 0 }
}

const inSeconds = (ms: number) => `${Math.ceil(ms / 1000)} s`
