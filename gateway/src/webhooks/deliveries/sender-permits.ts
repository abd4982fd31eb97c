/**
 * Limits the attempts that a worker has under way. Receivers that hang hold their permits until the timeout, so the more permits
 * are taken, the fewer an endpoint may have: an eighth of them is for any attempt, five eighths for further attempts of endpoints that
 * responded quickly the last time, and a quarter for the first attempt of each endpoint.
 */
export interface SenderPermits {
  /** Takes up to `wanted` permits for an endpoint, and returns how many it got. */
  take: (endpointId: string, wanted: number) => number
  /** Must be told how long the response took, if there was an attempt; Infinity for none. */
  giveBack: (endpointId: string, responseMs?: number) => void
  /** Whether the endpoint has any. */
  has: (endpointId: string) => boolean
  taken: () => number
}

const quickMs = 1_000
/** Bounds the memory. An endpoint that is forgotten is quick again after its next attempt. */
const quickEndpointsMax = 100_000

export const createSenderPermits = (total: number): SenderPermits => {
  const byEndpoint = new Map<string, number>()
  const quick = new Set<string>()
  let taken = 0
  return {
    take: (endpointId, wanted) => {
      let got = 0
      while (got < wanted) {
        const own = byEndpoint.get(endpointId) ?? 0
        const share = own === 0 ? 1 : quick.has(endpointId) ? 0.75 : 0.125
        if (taken >= total * share) break
        byEndpoint.set(endpointId, own + 1)
        taken += 1
        got += 1
      }
      return got
    },
    giveBack: (endpointId, responseMs) => {
      const own = byEndpoint.get(endpointId)
      if (own === undefined) throw new Error(`${endpointId} has no permit`)
      if (own === 1) byEndpoint.delete(endpointId)
      else byEndpoint.set(endpointId, own - 1)
      taken -= 1
      if (responseMs === undefined) return
      if (responseMs > quickMs) quick.delete(endpointId)
      else if (quick.size < quickEndpointsMax) quick.add(endpointId)
      else quick.clear()
    },
    has: (endpointId) => byEndpoint.has(endpointId),
    taken: () => taken,
  }
}
