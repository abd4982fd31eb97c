/**
 * Limits how many results this worker downloads at once, per provider and in total. A download occupies a slot of the
 * engine until it ends, and the loops need slots too, so the total must stay below the engine's limit. A caller
 * waits for a moment if a permit will soon be free; it counts like a download meanwhile, because it occupies a slot as well.
 * Any other caller without a permit tries again later, in another run. Callers are told to come back one after the other, at the pace at
 * which permits become free.
 *
 * A download that is slow or fails must not delay others:
 *
 * - A provider may use at most twice as many permits as remain free for the others.
 * - A slow download returns its permit and takes one of a few for slow downloads. If there is none, it is given up as soon
 *   as another caller needs its place.
 * - Retries get at most half of a provider's permits, so that bad results leave the rest to new ones.
 */
interface DownloadLimits {
  total: number
  perProvider: number
}

export interface DownloadPermit {
  /** To be called while the download is slow. False if it has to be given up. */
  mayStaySlow: () => boolean
  release: (hasSucceeded: boolean) => void
}

/** A retry follows a download of the same result that failed or was given up. */
export interface DownloadRequest {
  provider: string
  isRetry: boolean
}

export interface DownloadPermits {
  /** Undefined if there is no permit now. */
  tryAcquire: (request: DownloadRequest) => DownloadPermit | undefined
  /** Undefined if there will be no permit in a moment. */
  acquire: (request: DownloadRequest) => Promise<DownloadPermit | undefined>
  /** Whether a run that is started now will get a permit soon. If so, it is expected to ask for one. */
  mayStart: (request: DownloadRequest) => boolean
  /** When a caller without a permit should try again, in milliseconds from now. */
  nextTryMs: (request: DownloadRequest) => number
}

/** The downloads of one provider. */
interface Downloads {
  /** Those with a permit, without the slow ones. */
  active: number
  activeRetries: number
  /** The sum of the times at which the active ones started. */
  startsMs: number
  slow: number
  /** Runs that were started and have not asked for a permit yet. */
  expected: { startedMs: number; isRetry: boolean }[]
  /** A moving average of the durations of those that have succeeded. */
  usualMs: number
  /** When the last caller without a permit is to try again, and the last one with a retry. */
  lastTryMs: { first: number; retry: number }
  /** When the last caller got no permit at once. */
  lastRefusedMs: number
}

const assumedMs = 200
const weightOfNewest = 0.2
/** Shorter waits would keep the slot of the engine. Longer ones would be wrong if the provider recovers. */
const waitMsMin = 250
const waitMsMax = 15_000
/** A run that was started so long ago has asked another worker, or was interrupted. */
const expectedMsMax = 500
/** A slow download is given up if a permit was refused in this time. */
const refusedMsMax = 5_000
const slowShareOfProvider = 1 / 8
const slowShareOfTotal = 1 / 4

const atLeastOne = (permits: number) => Math.max(1, Math.floor(permits))

export const createDownloadPermits = (
  { total, perProvider }: DownloadLimits,
  now: () => number = () => performance.now(),
): DownloadPermits => {
  const retriesMax = atLeastOne(perProvider / 2)
  const slowMax = atLeastOne(perProvider * slowShareOfProvider)
  const slowTotalMax = atLeastOne(total * slowShareOfTotal)
  const providers = new Map<string, Downloads>()
  const waiting: { request: DownloadRequest; grant: (permit: DownloadPermit) => void }[] = []
  /** With the slow ones. */
  let activeTotal = 0
  let slowTotal = 0
  /** When the last caller got no permit because of the total. */
  let lastRefusedMs = -Infinity

  const downloadsOf = ({ provider }: DownloadRequest): Downloads => {
    const known = providers.get(provider)
    if (known !== undefined) return known
    const none: Downloads = {
      ...{ active: 0, activeRetries: 0, startsMs: 0, slow: 0, expected: [] },
      ...{ usualMs: assumedMs, lastTryMs: { first: -Infinity, retry: -Infinity }, lastRefusedMs: -Infinity },
    }
    providers.set(provider, none)
    return none
  }
  const limitFor = ({ isRetry }: DownloadRequest) => Math.min(total, isRetry ? retriesMax : perProvider)
  /** At least as long as the active downloads have taken on average: many early tries would only cost work. */
  const expectedMs = ({ active, startsMs, usualMs }: Downloads) =>
    active === 0 ? usualMs : Math.max(usualMs, now() - startsMs / active)
  const countFree = () => total - activeTotal - waiting.length
  /** How many more a provider may use. Each one leaves one less to the others. */
  const countSpare = (request: DownloadRequest, active: number, retries: number, free: number) => {
    const spare = Math.min(perProvider - active, Math.ceil((2 * free - active) / 3))
    return request.isRetry ? Math.min(spare, retriesMax - retries) : spare
  }
  const hasPermit = (request: DownloadRequest, free: number) => {
    const { active, activeRetries } = downloadsOf(request)
    return free > 0 && countSpare(request, active, activeRetries, free) > 0
  }
  const noteRefusal = (request: DownloadRequest) => {
    downloadsOf(request).lastRefusedMs = now()
    if (countFree() <= 0) lastRefusedMs = now()
  }

  const acquireNow = (request: DownloadRequest): DownloadPermit => {
    const downloads = downloadsOf(request)
    const startedMs = now()
    let isSlow = false
    const countActive = (change: 1 | -1) => {
      downloads.active += change
      if (request.isRetry) downloads.activeRetries += change
      downloads.startsMs += change * startedMs
    }
    countActive(1)
    activeTotal += 1
    return {
      mayStaySlow: () => {
        if (isSlow) return true
        if (downloads.slow < slowMax && slowTotal < slowTotalMax) {
          isSlow = true
          countActive(-1)
          downloads.slow += 1
          slowTotal += 1
          grantToWaiting()
          return true
        }
        return now() - Math.max(downloads.lastRefusedMs, lastRefusedMs) > refusedMsMax
      },
      release: (hasSucceeded) => {
        if (isSlow) {
          downloads.slow -= 1
          slowTotal -= 1
        } else countActive(-1)
        activeTotal -= 1
        if (hasSucceeded) downloads.usualMs += weightOfNewest * (now() - startedMs - downloads.usualMs)
        grantToWaiting()
      },
    }
  }
  /** Nobody waits while there is a permit, so a new caller does not overtake another of its provider. */
  const grantToWaiting = () => {
    for (const caller of [...waiting]) {
      // The place that a waiting caller occupies is free for itself.
      if (!hasPermit(caller.request, countFree() + 1)) continue
      waiting.splice(waiting.indexOf(caller), 1)
      caller.grant(acquireNow(caller.request))
    }
  }
  const tryAcquire = (request: DownloadRequest): DownloadPermit | undefined => {
    if (hasPermit(request, countFree())) return acquireNow(request)
    noteRefusal(request)
    return undefined
  }
  const countWaiting = (provider: string, isCounted: (request: DownloadRequest) => boolean) =>
    waiting.filter(({ request }) => request.provider === provider && isCounted(request)).length
  /** Whether a caller with so many others of its provider before it will get a permit soon. */
  const isSoonFree = (request: DownloadRequest, ahead: number) =>
    ((ahead + 1) * expectedMs(downloadsOf(request))) / limitFor(request) < waitMsMin
  const forgetOldExpected = (downloads: Downloads) => {
    const sinceMs = now() - expectedMsMax
    downloads.expected = downloads.expected.filter(({ startedMs }) => startedMs > sinceMs)
    return downloads.expected.length
  }
  return {
    tryAcquire,
    acquire: async (request) => {
      const { expected } = downloadsOf(request)
      const asked = expected.findIndex(({ isRetry }) => isRetry === request.isRetry)
      if (asked !== -1) expected.splice(asked, 1)
      const permit = tryAcquire(request)
      if (permit !== undefined || countFree() <= 0) return permit
      if (
        !isSoonFree(
          request,
          countWaiting(request.provider, () => true),
        )
      )
        return undefined
      return new Promise((resolve) => {
        const giveUp = () => {
          waiting.splice(waiting.indexOf(caller), 1)
          resolve(undefined)
        }
        const timer = setTimeout(giveUp, waitMsMin)
        const grant = (granted: DownloadPermit) => {
          clearTimeout(timer)
          resolve(granted)
        }
        const caller = { request, grant }
        waiting.push(caller)
      })
    },
    mayStart: (request) => {
      const downloads = downloadsOf(request)
      const expectedTotal = providers.values().reduce((sum, each) => sum + forgetOldExpected(each), 0)
      const free = countFree() - expectedTotal
      const { active, activeRetries, expected } = downloads
      const spare = countSpare(
        request,
        active + expected.length + countWaiting(request.provider, () => true),
        activeRetries +
          expected.filter(({ isRetry }) => isRetry).length +
          countWaiting(request.provider, ({ isRetry }) => isRetry),
        free,
      )
      if (free <= 0 || (spare <= 0 && !isSoonFree(request, -spare))) {
        noteRefusal(request)
        return false
      }
      expected.push({ startedMs: now(), isRetry: request.isRetry })
      return true
    },
    nextTryMs: (request) => {
      const downloads = downloadsOf(request)
      const nowMs = now()
      const kind = request.isRetry ? 'retry' : 'first'
      const atMs = Math.max(nowMs, downloads.lastTryMs[kind]) + expectedMs(downloads) / limitFor(request)
      downloads.lastTryMs[kind] = Math.min(atMs, nowMs + waitMsMax)
      return Math.min(waitMsMax, Math.max(waitMsMin, atMs - nowMs))
    },
  }
}
