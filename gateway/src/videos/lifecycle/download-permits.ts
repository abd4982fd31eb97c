/**
 * Limits how many results this worker downloads at once, per provider and in total. A download occupies a slot of the
 * engine until it ends, and the loops need slots too, so the total must stay below the engine's limit. A caller without
 * a permit tries again later, from outside of a step: waiting inside would occupy the slot just the same.
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
}

export const createDownloadPermits = ({ total, perProvider }: DownloadLimits): DownloadPermits => {
  const active = new Map<string, number>()
  const failing = new Set<string>()
  let activeTotal = 0
  return {
    tryAcquire: (provider) => {
      const count = active.get(provider) ?? 0
      if (activeTotal >= total || count >= (failing.has(provider) ? 1 : perProvider)) return undefined
      active.set(provider, count + 1)
      activeTotal += 1
      return (result) => {
        const left = (active.get(provider) ?? 1) - 1
        if (left === 0) active.delete(provider)
        else active.set(provider, left)
        activeTotal -= 1
        if (result === 'succeeded') failing.delete(provider)
        if (result === 'failed') failing.add(provider)
      }
    },
  }
}
