/** What the operations on the keys of an account share: the lock, the rights of the calling key, and the refusals. */
import { ApiError } from '@kinora/contract/errors'

import { lockAccount } from '../../admin/accounts/account-store.ts'
import { notFound } from '../../admin/given-id.ts'
import { findKeyRecord, lockKeyRecord, type KeyRecord } from '../../admin/keys/key-record-store.ts'
import type { Call } from '../../http/call.ts'
import type { Catalog } from '../../models/catalog.ts'
import type { Database } from '../../platform/postgres.ts'
import { findExcess, type KeyDefaults, type KeyRights } from './find-excess.ts'

export interface KeyRules {
  catalog: Catalog
  defaults: () => KeyDefaults
}

/**
 * Serializes changes of the account's keys, and reads the calling key again: an operator may have changed it since the
 * request was authenticated.
 */
export const lockCallingKey = async (
  database: Database,
  { accountId, keyId }: Call['caller'],
): Promise<KeyRecord> => {
  await lockAccount(database, accountId)
  const own = await lockKeyRecord(database, keyId)
  if (own === undefined || own.isDisabled || !own.scopes.includes('account')) {
    throw new ApiError('access_denied', {
      message: 'The key of this request was changed meanwhile and may no longer manage the account.',
    })
  }
  return own
}

/** Reads a key of the caller's account. A key of another account does not exist for the caller. */
export const findOwnKey = async (
  database: Database,
  id: string,
  { accountId }: Call['caller'],
): Promise<KeyRecord> => {
  const key = await findKeyRecord(database, id)
  if (key === undefined || key.accountId !== accountId) throw notFound('key')
  return key
}

/** Refuses settings that allow more than the calling key. */
export const assertWithin = (
  own: KeyRecord,
  wanted: KeyRights & { id: string },
  { catalog, defaults }: KeyRules,
): void => {
  const isSameKey = wanted.id === own.id
  const excess = findExcess(own, wanted, { catalog, defaults: defaults(), isSameKey })
  if (excess === undefined) return
  const { param, demand } = excess
  throw new ApiError('invalid_parameter', {
    param,
    message: `'${param}' must ${demand}: a key may not manage keys with more rights than its own.`,
  })
}
