/** Whom a key identifies, or why it is refused. */
import { ApiError } from '@kinora/contract/errors'

import { isAddressAllowed, type Caller, type Operator } from './caller.ts'
import type { KeyRecord } from './key-store.ts'

export const challenge = { 'www-authenticate': 'Bearer' }

export const invalidKey = (message: string) =>
  new ApiError('invalid_api_key', { message, headers: challenge })

const expiredKey = ({ hint, expiresAt }: KeyRecord) =>
  new ApiError('expired_api_key', {
    message: `This key (${hint}) expired at ${expiresAt?.toISOString()}.`,
    headers: challenge,
  })

const addressNotAllowed = ({ hint }: KeyRecord, address: string) =>
  new ApiError('ip_not_allowed', { message: `This key (${hint}) may not be used from ${address}.` })

const disabledKey = ({ hint }: KeyRecord) =>
  new ApiError('access_denied', { message: `This key (${hint}) is disabled.` })

export const hasExpired = ({ expiresAt }: KeyRecord): boolean =>
  expiresAt !== null && expiresAt.getTime() <= Date.now()

/** The caller that a key identifies. The address is omitted if an operator acts on the key's behalf. */
export const callerOf = (key: KeyRecord, currency: string, address?: string): Caller => {
  if (hasExpired(key)) throw expiredKey(key)
  const caller = {
    keyId: key.id,
    scopes: key.scopes,
    addresses: key.addresses ?? undefined,
    models: key.models ?? undefined,
    requestsPerMinute: key.requestsPerMinute ?? undefined,
    limits: key.limits,
    dialect: key.dialect,
    hasQuota: key.hasQuota,
    currency,
  }
  if (address !== undefined && !isAddressAllowed(caller, address)) throw addressNotAllowed(key, address)
  if (key.isDisabled) throw disabledKey(key)
  if (key.kind === 'admin' || key.accountId === null) {
    throw new ApiError('access_denied', { message: "An operator's key cannot be used to generate media." })
  }
  if (key.accountStatus === 'suspended') throw new ApiError('account_suspended')
  return { ...caller, accountId: key.accountId, kind: key.kind }
}

export const operatorOf = (key: KeyRecord, currency: string, address: string): Operator => {
  if (hasExpired(key)) throw expiredKey(key)
  if (!isAddressAllowed({ addresses: key.addresses ?? undefined }, address))
    throw addressNotAllowed(key, address)
  if (key.kind !== 'admin' || key.role === null)
    throw new ApiError('access_denied', {
      message: "This endpoint requires an operator's key, and this is a customer's.",
    })
  if (key.isDisabled) throw disabledKey(key)
  const { id: keyId, name, hint, role, limits } = key
  return { keyId, name, hint, role, limits, requestsPerMinute: key.requestsPerMinute ?? undefined, currency }
}

/** The keys that a session of the console stands for, at least one. */
export interface SignInKeys {
  key: KeyRecord | undefined
  operatorKey: KeyRecord | undefined
}

/** Refuses a second key of a kind, and keys that cannot be used from this address now. */
export const assertUsable = (keys: KeyRecord[], currency: string, address: string): SignInKeys => {
  const [key, secondKey] = keys.filter(({ kind }) => kind !== 'admin')
  const [operatorKey, secondOperatorKey] = keys.filter(({ kind }) => kind === 'admin')
  if (secondKey !== undefined || secondOperatorKey !== undefined)
    throw new ApiError('invalid_parameter', {
      param: 'keys',
      message: "'keys' must have at most one customer's key and at most one operator's key.",
    })
  if (key !== undefined) callerOf(key, currency, address)
  if (operatorKey !== undefined) operatorOf(operatorKey, currency, address)
  return { key, operatorKey }
}
