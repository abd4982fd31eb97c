/** Names a service that this one depends on, so that an operator knows what to check: the address and its setting. */

import { DescribedFailure } from './describe-error.ts'

/** Only host, port and path, because the rest of a URL may contain a password. */
const addressOf = (url: string): string | undefined => {
  const parsed = URL.parse(url)
  return parsed === null || parsed.host === ''
    ? undefined
    : `${parsed.host}${parsed.pathname}`.replace(/\/$/, '')
}

export const describeService = (name: string, setting: string, url: string): string => {
  const address = addressOf(url)
  return address === undefined ? `${name} (${setting})` : `${name} at ${address} (${setting})`
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
