/**
 * Limits how many results this worker downloads at once, per provider and in total. A download occupies a slot of the
 * engine until it ends, and the loops need slots too, so the total must stay below the engine's limit. A caller
 * waits for a moment if a permit will soon be free; it counts like a download meanwhile, because it occupies a slot as well.
 * Any other caller without a permit tries again later, from outside of a step. Callers are told to come back one after the other, at the pace at
 * which permits become free.
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

/** Returns the permit. */
type Release = (result: DownloadResult) => void

export interface DownloadPermits {
  /** Undefined if there is no permit now. */
  tryAcquire: (provider: string) => Release | undefined
  /** Undefined if there will be no permit in a moment. */
  acquire: (provider: string) => Promise<Release | undefined>
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
  const waiting: { provider: string; grant: (release: Release) => void }[] = []
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
  const permitsOf = (downloads: Downloads) => Math.min(total, limitOf(downloads))
  const hasSlot = () => activeTotal + waiting.length < total
  const hasPermit = (provider: string) => {
    const downloads = downloadsOf(provider)
    return downloads.active < limitOf(downloads)
  }
  const acquireNow = (provider: string): Release => {
    const downloads = downloadsOf(provider)
    downloads.active += 1
    activeTotal += 1
    const startedMs = now()
    downloads.startsMs += startedMs
    return (result) => {
      downloads.active -= 1
      downloads.startsMs -= startedMs
      activeTotal -= 1
      if (result !== 'undecided') {
        downloads.isFailing = result === 'failed'
        downloads.usualMs += weightOfNewest * (now() - startedMs - downloads.usualMs)
      }
      grantToWaiting()
    }
  }
  /** Nobody waits while there is a permit, so a new caller does not overtake another of its provider. */
  const grantToWaiting = () => {
    for (const caller of [...waiting]) {
      if (!hasPermit(caller.provider)) continue
      waiting.splice(waiting.indexOf(caller), 1)
      caller.grant(acquireNow(caller.provider))
    }
  }
  const tryAcquire = (provider: string): Release | undefined =>
    hasSlot() && hasPermit(provider) ? acquireNow(provider) : undefined
  const isSoonFree = (provider: string) => {
    const downloads = downloadsOf(provider)
    const ahead = waiting.filter((caller) => caller.provider === provider).length
    return ((ahead + 1) * expectedMs(downloads)) / permitsOf(downloads) < waitMsMin
  }
  return {
    tryAcquire,
    acquire: async (provider) => {
      const release = tryAcquire(provider)
      if (release !== undefined || !hasSlot() || !isSoonFree(provider)) return release
      return new Promise((resolve) => {
        const giveUp = () => {
          waiting.splice(waiting.indexOf(caller), 1)
          resolve(undefined)
        }
        const timer = setTimeout(giveUp, waitMsMin)
        const grant = (granted: Release) => {
          clearTimeout(timer)
          resolve(granted)
        }
        const caller = { provider, grant }
        waiting.push(caller)
      })
    },
    nextTryMs: (provider) => {
      const downloads = downloadsOf(provider)
      const nowMs = now()
      const atMs = Math.max(nowMs, downloads.lastTryMs) + expectedMs(downloads) / permitsOf(downloads)
      downloads.lastTryMs = Math.min(atMs, nowMs + waitMsMax)
      return Math.min(waitMsMax, Math.max(waitMsMin, atMs - nowMs))
    },
  }
}
