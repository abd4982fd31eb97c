import { isIPv4 } from 'node:net'

import ipaddr from 'ipaddr.js'

const ipv6PrefixBits = 64

/**
 * The prefix by which an address is counted: the address itself for IPv4, its /64 for IPv6, because one customer usually
 * has a whole /64 and could otherwise use a new address for every request.
 */
export const addressPrefixOf = (address: string): string => {
  // The common case needs no parsing; this runs several times per request.
  if (isIPv4(address) || !ipaddr.isValid(address)) return address
  // `process` turns an IPv4-mapped IPv6 address into its IPv4 address.
  const parsed = ipaddr.process(address)
  if (parsed instanceof ipaddr.IPv4) return parsed.toString()
  const network = ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/${ipv6PrefixBits}`)
  return `${network.toString()}/${ipv6PrefixBits}`
}
