/**
 * Resolves the names of URLs that others chose with DNS queries on the event loop, which end when they are cancelled.
 * `dns.lookup` would occupy one of the few threads that also look up providers, the database and Redis, for as long as the
 * system waits for a DNS server, which the owner of a name can make slow.
 */
import { lookup, Resolver } from 'node:dns/promises'

export interface ResolvedAddress {
  address: string
  family: number
}

/** Resolves to the addresses known when the signal aborts, or rejects with its reason if there are none. */
export type ResolveName = (hostname: string, signal: AbortSignal) => Promise<ResolvedAddress[]>

const queryTimeoutMs = 1_000
const queryTries = 3
/** Per family. A response may have thousands, and each one is checked. */
const addressesMax = 16

/** Without servers, those of the system are asked. Neither the hosts file nor search domains are used. */
export const createDnsQuery =
  (servers: string[] = []): ResolveName =>
  async (hostname, signal) => {
    signal.throwIfAborted()
    // One resolver for each name, because only all queries of a resolver can be cancelled.
    const resolver = new Resolver({ timeout: queryTimeoutMs, tries: queryTries })
    if (servers.length > 0) resolver.setServers(servers)
    const cancel = () => resolver.cancel()
    signal.addEventListener('abort', cancel)
    try {
      const results = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
      const addresses = results.flatMap((result, index) =>
        result.status === 'rejected'
          ? []
          : result.value.slice(0, addressesMax).map((address) => ({ address, family: index === 0 ? 4 : 6 })),
      )
      if (addresses.length > 0) return addresses
      signal.throwIfAborted()
      throw new Error(`${hostname} has no address`, { cause: results })
    } finally {
      signal.removeEventListener('abort', cancel)
    }
  }

const underWay = new Map<string, Promise<ResolvedAddress[]>>()

/** Looks up a name like any other program, for hosts of the operator. One name occupies at most one thread. */
export const lookUpHost: ResolveName = (hostname, signal) => {
  const shared =
    underWay.get(hostname) ??
    lookup(hostname, { all: true, order: 'verbatim' }).finally(() => underWay.delete(hostname))
  underWay.set(hostname, shared)
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason)
    if (signal.aborted) leave()
    signal.addEventListener('abort', leave, { once: true })
    shared.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave))
  })
}
