import { isIPv4 } from 'node:net'

import ipaddr from 'ipaddr.js'

const ipv6PrefixBits = 64

/**
 * What an address is counted by: an IPv4 address itself, an IPv6 address by its /64, because one customer is usually
 * given a whole /64 and could otherwise use a new address for every request.
 */
export const addressPrefixOf = (address: string): string => {
  // Every request is counted by its address several times; most addresses need no parsing.
  if (isIPv4(address) || !ipaddr.isValid(address)) return address
  // An IPv4 address that was mapped into IPv6 is still that IPv4 address.
  const parsed = ipaddr.process(address)
  if (parsed instanceof ipaddr.IPv4) return parsed.toString()
  const network = ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/${ipv6PrefixBits}`)
  return `${network.toString()}/${ipv6PrefixBits}`
}
