/**
 * Limits how many results this worker downloads at once, per provider and in total. A download occupies a slot of the
 * engine until it ends, and the loops need slots too, so the total must stay below the engine's limit. A caller without
 * a permit tries again later, from outside of a step: waiting inside would occupy the slot just the same. Callers are
 * told to come back one after the other, at the pace at which permits become free.
 *
 * A provider whose last download failed gets one permit at a time until a download succeeds. A provider that is down or
 * slow therefore leaves the permits to the others.
 */
interface DownloadLimits {
  total: number
  perProvider: number
}

/** `undecided`: the download ended for a reason that says nothing about its provider. */
export type DownloadResult = 'succeeded' | 'failed' | 'undecided'

export interface DownloadPermits {
  /** Returns the function that returns the permit, or undefined if there is none now. */
  tryAcquire: (provider: string) => ((result: DownloadResult) => void) | undefined
  /** When a caller without a permit should try again, in milliseconds from now. */
  nextTryMs: (provider: string) => number
}

/** The downloads of one provider. */
interface Downloads {
  active: number
  /** The sum of the times at which the active ones started. */
  startsMs: number
  isFailing: boolean
  /** A moving average of the durations of those that have ended. */
  usualMs: number
  /** When the last caller without a permit is to try again. */
  lastTryMs: number
}

const assumedMs = 200
const weightOfNewest = 0.2
/** Shorter waits would keep the slot of the engine. Longer ones would be wrong if the provider recovers. */
const waitMsMin = 250
const waitMsMax = 15_000

export const createDownloadPermits = (
  { total, perProvider }: DownloadLimits,
  now: () => number = () => performance.now(),
): DownloadPermits => {
  const providers = new Map<string, Downloads>()
  let activeTotal = 0
  const downloadsOf = (provider: string): Downloads => {
    const known = providers.get(provider)
    if (known !== undefined) return known
    const none = { active: 0, startsMs: 0, isFailing: false, usualMs: assumedMs, lastTryMs: -Infinity }
    providers.set(provider, none)
    return none
  }
  const limitOf = ({ isFailing }: Downloads) => (isFailing ? 1 : perProvider)
  /** At least as long as the active downloads have taken on average: many early tries would only cost work. */
  const expectedMs = ({ active, startsMs, usualMs }: Downloads) =>
    active === 0 ? usualMs : Math.max(usualMs, now() - startsMs / active)
  return {
    tryAcquire: (provider) => {
      const downloads = downloadsOf(provider)
      if (activeTotal >= total || downloads.active >= limitOf(downloads)) return undefined
      downloads.active += 1
      activeTotal += 1
      const startedMs = now()
      downloads.startsMs += startedMs
      return (result) => {
        downloads.active -= 1
        downloads.startsMs -= startedMs
        activeTotal -= 1
        if (result === 'undecided') return
        downloads.isFailing = result === 'failed'
        downloads.usualMs += weightOfNewest * (now() - startedMs - downloads.usualMs)
      }
    },
    nextTryMs: (provider) => {
      const downloads = downloadsOf(provider)
      const nowMs = now()
      const atMs =
        Math.max(nowMs, downloads.lastTryMs) + expectedMs(downloads) / Math.min(total, limitOf(downloads))
      downloads.lastTryMs = Math.min(atMs, nowMs + waitMsMax)
      return Math.min(waitMsMax, Math.max(waitMsMin, atMs - nowMs))
    },
  }
}
