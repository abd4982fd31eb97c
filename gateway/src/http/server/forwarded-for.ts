/**
 * Reports whether X-Forwarded-For of a request counts. It does not if the proxy is missing in TRUSTED_PROXIES; then all
 * callers behind the proxy share its address, and with it one rate limit. So the first such request of a peer is logged.
 */
import type { IncomingMessage } from 'node:http'

import { isAddressAllowed } from '../../auth/caller.ts'
import type { Log } from '../../platform/log.ts'

const header = 'x-forwarded-for'
const forgetAfterMs = 3_600_000
/** Anybody can send the header, so the warnings of an hour are limited. */
const warningsMax = 20

export type ForwardedFor = 'absent' | 'trusted' | 'ignored'

export const createForwardedFor = (
  trustedProxies: string[],
  log: Pick<Log, 'warn'>,
  now: () => number = () => performance.now(),
): ((request: Pick<IncomingMessage, 'headers' | 'socket'>) => ForwardedFor) => {
  const warned = new Set<string>()
  let startedMs = now()
  const warn = (peer: string) => {
    if (now() - startedMs >= forgetAfterMs) {
      warned.clear()
      startedMs = now()
    }
    if (warned.has(peer) || warned.size >= warningsMax) return
    warned.add(peer)
    const warning = `X-Forwarded-For of ${peer} is ignored. If ${peer} is your proxy, add it to TRUSTED_PROXIES; otherwise all its clients share one rate limit.`
    log.warn({ peer, warning }, 'proxy.untrusted')
  }
  return ({ headers, socket }) => {
    if (headers[header] === undefined) return 'absent'
    const peer = socket.remoteAddress ?? ''
    if (isAddressAllowed({ addresses: trustedProxies }, peer)) return 'trusted'
    warn(peer)
    return 'ignored'
  }
}
