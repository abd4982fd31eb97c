/**
 * Notices that this process stood still: it was stopped by a signal, got no processor time, or its event loop was
 * blocked. Its own timer is then late by the monotonic clock.
 */
import type { Log } from './log.ts'

const tickMs = 250
/** Shorter delays hardly matter to a call. */
const stallMsLeast = 1_000

export interface Stalls {
  /** Whether the process stood still at any time since this time of `performance.now()`. */
  hasStalledSince: (sinceMs: number) => boolean
  stop: () => void
}

export const watchForStalls = (log: Pick<Log, 'warn'>): Stalls => {
  let tickedAtMs = performance.now()
  let stalledUntilMs = -Infinity

  // A late tick may come after the calls that it concerns have failed, so they check as well.
  const check = () => {
    const nowMs = performance.now()
    const stalledMs = nowMs - tickedAtMs - tickMs
    if (stalledMs < stallMsLeast) return
    stalledUntilMs = nowMs
    tickedAtMs = nowMs
    log.warn({ stalledMs: Math.round(stalledMs) }, 'process.stalled')
  }
  let timer: NodeJS.Timeout
  const tick = () => {
    check()
    tickedAtMs = performance.now()
    timer = setTimeout(tick, tickMs).unref()
  }
  tick()

  return {
    hasStalledSince: (sinceMs) => {
      check()
      return stalledUntilMs > sinceMs
    },
    stop: () => clearTimeout(timer),
  }
}
