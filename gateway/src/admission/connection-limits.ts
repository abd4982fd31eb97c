/** Limits how many connections may be open: from one address, and in total. */
import type { Socket } from 'node:net'

import { addressPrefixOf } from './address-prefix.ts'

export interface ConnectionLimits {
  perAddress: number
  total: number
  /** Addresses that are limited by the total alone, because many clients are behind them. */
  isTrustedProxy: (address: string) => boolean
}

export type ConnectionRefusal = 'too_many_from_address' | 'too_many_in_total'

/** Counts a connection until it is closed, or says why it must not be served. */
export type AdmitConnection = (socket: Socket) => ConnectionRefusal | undefined

export const createConnectionLimit = ({
  perAddress,
  total,
  isTrustedProxy,
}: ConnectionLimits): AdmitConnection => {
  const openByAddress = new Map<string, number>()
  let openInTotal = 0

  return (socket) => {
    if (openInTotal >= total) return 'too_many_in_total'
    // A connection that was reset before it was accepted has no address any more.
    const address = socket.remoteAddress ?? ''
    const prefix = isTrustedProxy(address) ? undefined : addressPrefixOf(address)
    if (prefix !== undefined) {
      const open = openByAddress.get(prefix) ?? 0
      if (open >= perAddress) return 'too_many_from_address'
      openByAddress.set(prefix, open + 1)
    }
    openInTotal += 1
    socket.once('close', () => {
      openInTotal -= 1
      if (prefix === undefined) return
      const left = (openByAddress.get(prefix) ?? 1) - 1
      if (left === 0) openByAddress.delete(prefix)
      else openByAddress.set(prefix, left)
    })
    return undefined
  }
}
