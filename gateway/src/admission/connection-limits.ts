/**
 * Limits how many connections may be open per address and in total. An address whose connections were terminated
 * repeatedly is blocked for a while, because accepting and terminating a connection also costs CPU time.
 */
import type { Socket } from 'node:net'

import { addressPrefixOf } from './address-prefix.ts'

export interface ConnectionLimits {
  perAddress: number
  total: number
  /** Only the total limits a trusted proxy, because many clients share its address. */
  isTrustedProxy: (address: string) => boolean
}

export type ConnectionRefusal = 'too_many_from_address' | 'too_many_in_total'

export interface ConnectionAdmission {
  /** Counts a connection until it is closed, or returns why it must not be served. */
  admit: (socket: Socket) => ConnectionRefusal | undefined
  /** Records that a connection was terminated because of its client's behaviour. */
  cutOff: (socket: Socket) => void
}

/** After this many terminations within the span, the address is blocked for the same span. */
const cutOffMax = 10
const blockedMs = 10_000
/** Above this number of addresses, expired entries are removed. */
const rememberedMax = 10_000

export const createConnectionLimit = ({
  perAddress,
  total,
  isTrustedProxy,
  nowMs = () => performance.now(),
}: ConnectionLimits & { nowMs?: () => number }): ConnectionAdmission => {
  const openByAddress = new Map<string, number>()
  const cutOffByAddress = new Map<string, { count: number; untilMs: number }>()
  let openInTotal = 0

  const prefixOf = (socket: Socket): string | undefined => {
    // A connection that was reset before it was accepted has no address.
    const address = socket.remoteAddress ?? ''
    return isTrustedProxy(address) ? undefined : addressPrefixOf(address)
  }
  const isBlocked = (prefix: string): boolean => {
    const found = cutOffByAddress.get(prefix)
    if (found === undefined) return false
    if (found.untilMs > nowMs()) return found.count >= cutOffMax
    cutOffByAddress.delete(prefix)
    return false
  }

  const cutOff = (socket: Socket) => {
    const prefix = prefixOf(socket)
    if (prefix === undefined || perAddress === Infinity) return
    const count = (isBlocked(prefix) ? cutOffMax : (cutOffByAddress.get(prefix)?.count ?? 0)) + 1
    if (cutOffByAddress.size >= rememberedMax) for (const each of cutOffByAddress.keys()) isBlocked(each)
    cutOffByAddress.set(prefix, { count, untilMs: nowMs() + blockedMs })
  }

  const admit: ConnectionAdmission['admit'] = (socket) => {
    if (openInTotal >= total) return 'too_many_in_total'
    const prefix = prefixOf(socket)
    if (prefix !== undefined) {
      if (isBlocked(prefix)) return 'too_many_from_address'
      const open = openByAddress.get(prefix) ?? 0
      if (open >= perAddress) return 'too_many_from_address'
      openByAddress.set(prefix, open + 1)
    }
    openInTotal += 1
    socket.on('close', () => {
      openInTotal -= 1
      if (prefix === undefined) return
      const left = (openByAddress.get(prefix) ?? 1) - 1
      if (left === 0) openByAddress.delete(prefix)
      else openByAddress.set(prefix, left)
    })
    return undefined
  }
  return { admit, cutOff }
}
