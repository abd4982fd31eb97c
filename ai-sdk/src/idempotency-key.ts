/** Idempotency keys, by which the service recognizes a retry of the SDK and does not charge it again. */
import { generateId } from '@ai-sdk/provider-utils'

import type { Headers } from './connection.ts'

const headerName = 'idempotency-key'

const keys = new WeakMap<Headers, string>()

/** The SDK gives the same headers, marked with its name, to all attempts of a call. Any other caller makes one attempt. */
const keyOfCall = (headers: Headers): string => {
  const isOfSdk = /\bai\//.test(headers['user-agent'] ?? '')
  const key = (isOfSdk ? keys.get(headers) : undefined) ?? `aisdk_${generateId()}${generateId()}`
  if (isOfSdk) keys.set(headers, key)
  return key
}

const keyIn = (headers: Headers): string | undefined =>
  Object.entries(headers).find(([name]) => name.toLowerCase() === headerName)?.[1]

/** Reads have no use for a key that a caller sends with every request. */
export const withoutIdempotencyKey = (headers: Headers = {}): Headers =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.toLowerCase() !== headerName))

/** The headers of a create: with the key in the provider options, the one in the headers, or a new one. */
export const withIdempotencyKey = (headers: Headers = {}, given?: string): Headers => {
  const key = given ?? keyIn(headers) ?? keyOfCall(headers)
  return { ...withoutIdempotencyKey(headers), [headerName]: key }
}
