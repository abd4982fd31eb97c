/** Finds out whether the simulated vendors or the customers stood still, which would invalidate a run. */
import { watchStalls } from '../../../dev/vendor/watch-stalls.ts'
import type { WatchedStack } from './fault-stack.ts'

/** A machine that is busy delays them by less. */
const stallMsMax = 3_000

const own = watchStalls()

export const findStalls = async ({ vendors }: WatchedStack, sinceMs: number): Promise<string[]> => {
  const ofVendors = Object.entries(vendors).map(
    async ([name, vendor]) => [`the vendor ${name}`, await vendor.stalls()] as const,
  )
  const watched = [['the customers', own.stalls] as const, ...(await Promise.all(ofVendors))]
  return watched.flatMap(([who, stalls]) =>
    stalls.flatMap(({ endedAtMs, lengthMs }) =>
      endedAtMs >= sinceMs && lengthMs > stallMsMax
        ? `${who} stood still for ${(lengthMs / 1_000).toFixed(1)} s, so the run shows nothing`
        : [],
    ),
  )
}
