/**
 * The circuit breaker of one provider and model. It opens after failures, allows one probe at a time once the open time
 * has passed, and closes when a probe succeeds. All functions are pure: clock and randomness are parameters.
 */
import type { CallOutcome } from './route.ts'

export interface Breaker {
  /** Failures since the last success, or since it closed. */
  consecutiveFailures: number
  /** Calls and failures per second of the window, oldest first. */
  recent: { second: number; calls: number; failures: number }[]
  /** The first of the uninterrupted busy responses. */
  busySinceMs: number | undefined
  /** The end of the Retry-After window. */
  waitUntilMs: number
  /** Set while it is open; after `untilMs` it is half-open. */
  open: { untilMs: number; reason: string; isUnauthorized: boolean } | undefined
  /** Consecutive openings. */
  openings: number
  recoveredAtMs: number | undefined
}

export interface CallEnd {
  outcome: CallOutcome
  retryAfterMs?: number | undefined
  /** Whether the call was the probe of an unhealthy provider. */
  isProbe: boolean
  /** When the call began. The open time after a probe counts from there, or a probe that times out would prolong it. */
  startedMs?: number | undefined
}

const consecutiveFailuresMax = 5
const windowSeconds = 30
const windowCallsLeast = 20
const openMsLeast = 5_000
/** Bounds the time to notice a recovery, however long the outage was. */
export const openMsMost = 30_000
/** A busy provider is short of capacity. Only after this time without a success it counts as failing. */
const busyMsMost = 10_000
/** Used for a busy response without Retry-After. */
const waitMsDefault = 1_000
/** Longer Retry-After values are cut to this. */
const waitMsMost = 600_000
/** An opening within this time of a recovery continues the exponential open times. */
export const recoveringMs = 60_000

export const newBreaker = (): Breaker => ({
  consecutiveFailures: 0,
  recent: [],
  busySinceMs: undefined,
  waitUntilMs: 0,
  open: undefined,
  openings: 0,
  recoveredAtMs: undefined,
})

const failureTexts: Record<Exclude<CallOutcome, 'ok'>, string> = {
  not_delivered: 'not delivered',
  unknown: 'no clear answer',
  busy: 'busy',
  unauthorized: 'credential refused',
  rejected: 'rejected',
  moderated: 'moderated',
}

/** A provider that refuses a job because of its content works. */
const isFailure = (outcome: CallOutcome): outcome is 'not_delivered' | 'unknown' | 'busy' =>
  outcome === 'not_delivered' || outcome === 'unknown' || outcome === 'busy'

const counted = (recent: Breaker['recent'], isFailed: boolean, nowMs: number): Breaker['recent'] => {
  const second = Math.floor(nowMs / 1000)
  const inWindow = recent.filter((each) => each.second > second - windowSeconds)
  const last = inWindow.at(-1)
  const failures = isFailed ? 1 : 0
  if (last === undefined || last.second < second) return [...inWindow, { second, calls: 1, failures }]
  return [
    ...inWindow.slice(0, -1),
    { second: last.second, calls: last.calls + 1, failures: last.failures + failures },
  ]
}

/** Returns the reason to open, or undefined. */
const reasonToOpen = (failuresInRow: number, recent: Breaker['recent'], text: string): string | undefined => {
  if (failuresInRow >= consecutiveFailuresMax) return `${failuresInRow} failures in a row (${text})`
  const calls = recent.reduce((sum, each) => sum + each.calls, 0)
  const failures = recent.reduce((sum, each) => sum + each.failures, 0)
  if (calls < windowCallsLeast || failures * 2 < calls) return undefined
  return `${failures} of ${calls} calls within ${windowSeconds} s failed (${text})`
}

const isRecovering = ({ recoveredAtMs }: Breaker, nowMs: number) =>
  recoveredAtMs !== undefined && nowMs - recoveredAtMs < recoveringMs

const opened = (
  breaker: Breaker,
  cause: { reason: string; isUnauthorized: boolean },
  nowMs: number,
  random: () => number,
  sinceMs = nowMs,
): Breaker => {
  const earlier = breaker.open !== undefined || isRecovering(breaker, nowMs) ? breaker.openings : 0
  const openMs = Math.min(openMsMost, openMsLeast * 2 ** earlier) * (0.8 + 0.4 * random())
  return {
    ...breaker,
    open: { untilMs: Math.max(nowMs, sinceMs + openMs), ...cause },
    openings: earlier + 1,
  }
}

/** Resets the counts on closing. */
export const closed = (breaker: Breaker, recoveredAtMs: number | undefined): Breaker => ({
  ...newBreaker(),
  waitUntilMs: breaker.waitUntilMs,
  openings: breaker.openings,
  recoveredAtMs,
})

const afterFailure = (
  breaker: Breaker,
  { outcome, retryAfterMs, isProbe, startedMs }: CallEnd & { outcome: 'not_delivered' | 'unknown' | 'busy' },
  nowMs: number,
  random: () => number,
): Breaker => {
  const askedUntilMs = outcome === 'busy' ? nowMs + Math.min(waitMsMost, retryAfterMs ?? waitMsDefault) : 0
  const waiting = { ...breaker, waitUntilMs: Math.max(breaker.waitUntilMs, askedUntilMs) }
  const text = failureTexts[outcome]
  if (breaker.open !== undefined) {
    // A call that was made before the breaker opened.
    if (!isProbe) return waiting
    const consecutiveFailures = breaker.consecutiveFailures + 1
    const reason = `${consecutiveFailures} failures in a row (${text})`
    const failed = { ...waiting, consecutiveFailures }
    return opened(failed, { reason, isUnauthorized: false }, nowMs, random, startedMs)
  }
  const busySinceMs = outcome === 'busy' ? (breaker.busySinceMs ?? nowMs) : breaker.busySinceMs
  if (outcome === 'busy' && nowMs - (busySinceMs ?? nowMs) < busyMsMost) return { ...waiting, busySinceMs }
  const consecutiveFailures = breaker.consecutiveFailures + 1
  const recent = counted(breaker.recent, true, nowMs)
  const reason = reasonToOpen(consecutiveFailures, recent, text)
  const failed = { ...waiting, busySinceMs, consecutiveFailures, recent }
  return reason === undefined ? failed : opened(failed, { reason, isUnauthorized: false }, nowMs, random)
}

/** A single refusal of the credential opens the breaker, because every other call would be refused too. */
const afterRefusedCredential = (
  breaker: Breaker,
  isProbe: boolean,
  nowMs: number,
  random: () => number,
): Breaker => {
  // A call that was made before the breaker opened.
  if (breaker.open !== undefined && !isProbe) return breaker
  const reason = { reason: failureTexts.unauthorized, isUnauthorized: true }
  return opened({ ...breaker, consecutiveFailures: breaker.consecutiveFailures + 1 }, reason, nowMs, random)
}

export const afterCall = (
  breaker: Breaker,
  end: CallEnd,
  nowMs: number,
  random: () => number = Math.random,
): Breaker => {
  const { outcome, startedMs = nowMs } = end
  // A failed call that began before the recovery, such as one that timed out, says nothing about the provider now.
  const isOutdated = breaker.open === undefined && startedMs < (breaker.recoveredAtMs ?? -Infinity)
  if (isOutdated && (outcome === 'unauthorized' || isFailure(outcome))) return breaker
  if (outcome === 'unauthorized') return afterRefusedCredential(breaker, end.isProbe, nowMs, random)
  if (isFailure(outcome)) return afterFailure(breaker, { ...end, outcome }, nowMs, random)
  if (breaker.open !== undefined) return nowMs < breaker.open.untilMs ? breaker : closed(breaker, nowMs)
  return {
    ...breaker,
    consecutiveFailures: 0,
    busySinceMs: undefined,
    recent: counted(breaker.recent, false, nowMs),
  }
}

/** `waiting` is closed within a Retry-After window. A half-open breaker allows a probe. */
export const stateOf = (
  { open, waitUntilMs }: Breaker,
  nowMs: number,
): { kind: 'closed' | 'open' | 'half-open' | 'waiting'; reason: string; forMs: number } => {
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
      reason: `Retry-After of ${inSeconds(waitMs)}`,
      forMs: waitMs,
    }
  }
  if (open === undefined) return { kind: 'closed', reason: '', forMs: 0 }
  return { kind: 'half-open', reason: `to be tried again after ${open.reason}`, forMs: 0 }
}

const inSeconds = (ms: number) => `${Math.ceil(ms / 1000)} s`
