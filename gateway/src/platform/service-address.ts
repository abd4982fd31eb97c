/** Names a service that this one depends on, so that an operator knows what to check: the address and its setting. */

import { DescribedFailure } from './describe-error.ts'
import { addressOf } from './hosts/address-of.ts'

/** The service may have several URLs. */
export const describeService = (name: string, setting: string, ...urls: string[]): string => {
  const addresses = urls.flatMap((url) => addressOf(url) ?? [])
  return addresses.length === 0 ? `${name} (${setting})` : `${name} at ${addresses.join(', ')} (${setting})`
}

/** An error whose attempts at several addresses all failed has a code but no message. */
const reasonOf = (error: unknown): string => {
  const { message, code } = (error ?? {}) as { message?: unknown; code?: unknown }
  return (
    [message, code].find((text) => typeof text === 'string' && text !== '')?.toString() ?? 'unknown error'
  )
}

/** The error of a service that cannot be used, with what to check. A failure to connect names nothing of a caller. */
export const unusable = (service: string, error: unknown): Error =>
  new DescribedFailure(
    `${service} cannot be used: ${reasonOf(error)}. Check that it is running and that the setting is correct.`,
    { cause: error },
  )
