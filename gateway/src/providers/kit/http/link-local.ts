/**
 * Keeps calls to providers from link-local addresses, where clouds serve the credentials of the machine. An operator who
 * may set the base URL of a provider need not be one who may have those.
 */
import { lookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'

import { isLinkLocalAddress } from '../../../safe-fetch/public-address.ts'

let isAllowed = false

/** Applies to all providers of this process, whatever created them. */
export function allowLinkLocal(isNowAllowed: boolean): void {
  isAllowed = isNowAllowed
}

export function isRefusedAddress(address: string): boolean {
  return !isAllowed && isLinkLocalAddress(address)
}

export const linkLocalCode = 'ERR_LINK_LOCAL'

function refusal(): Error {
  return Object.assign(new Error('the provider is at a link-local address'), { code: linkLocalCode })
}

/** The error for a host of a URL that is itself a link-local address. Names are checked when they are looked up. */
export function problemWithHost(hostname: string): Error | undefined {
  const host = hostname.replace(/^\[|\]$/g, '')
  return isIP(host) !== 0 && isRefusedAddress(host) ? refusal() : undefined
}

/** `dns.lookup`, but a name with a refused address fails. */
export const lookUpProvider: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, options, (error, found, family) => {
    const addresses = Array.isArray(found) ? found.map(({ address }) => address) : [found]
    if (error === null && addresses.some(isRefusedAddress)) callback(refusal(), '')
    else callback(error, found, family)
  })
}
