/**
 * Limits how many results this worker downloads at once, per provider and in total. A download occupies a slot of the
 * engine until it ends, and the loops need slots too, so the total must stay below the engine's limit. A caller
 * waits for a moment if a permit will soon be free; it counts like a download meanwhile, because it occupies a slot as well.
 * Any other caller without a permit tries again later, in another run. Callers are told to come back one after the other, at the pace at
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
  /** Whether a run that is started now will get a permit soon. If so, it is expected to ask for one. */
  mayStart: (provider: string) => boolean
  /** When a caller without a permit should try again, in milliseconds from now. */
  nextTryMs: (provider: string) => number
}

/** The downloads of one provider. */
interface Downloads {
  active: number
  /** The sum of the times at which the active ones started. */
  startsMs: number
  isFailing: boolean
  /** When runs were started that have not asked for a permit yet. */
  expectedSinceMs: number[]
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
/** A run that was started so long ago has asked another worker, or was interrupted. */
const expectedMsMax = 500

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
    const none: Downloads = {
      ...{ active: 0, startsMs: 0, isFailing: false, usualMs: assumedMs, lastTryMs: -Infinity },
      expectedSinceMs: [],
    }
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
  const waitingFor = (provider: string) => waiting.filter((caller) => caller.provider === provider).length
  /** Whether a caller with so many others of its provider before it will get a permit soon. */
  const isSoonFree = (provider: string, ahead: number) => {
    const downloads = downloadsOf(provider)
    return ((ahead + 1) * expectedMs(downloads)) / permitsOf(downloads) < waitMsMin
  }
  /** Runs that have been started and not asked for a permit yet. */
  const countExpected = (downloads: Downloads) => {
    const sinceMs = now() - expectedMsMax
    downloads.expectedSinceMs = downloads.expectedSinceMs.filter((startedMs) => startedMs > sinceMs)
    return downloads.expectedSinceMs.length
  }
  return {
    tryAcquire,
    acquire: async (provider) => {
      downloadsOf(provider).expectedSinceMs.shift()
      const release = tryAcquire(provider)
      if (release !== undefined || !hasSlot() || !isSoonFree(provider, waitingFor(provider))) return release
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
    mayStart: (provider) => {
      const downloads = downloadsOf(provider)
      const inTotal = providers.values().reduce((sum, each) => sum + countExpected(each), 0)
      if (activeTotal + waiting.length + inTotal >= total) return false
      const ahead = downloads.active + waitingFor(provider) + downloads.expectedSinceMs.length
      const free = limitOf(downloads) - ahead
      if (free <= 0 && !isSoonFree(provider, -free)) return false
      downloads.expectedSinceMs.push(now())
      return true
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
