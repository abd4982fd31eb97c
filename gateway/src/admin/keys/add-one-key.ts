import { ApiError } from '@kinora/contract/errors'
import { defaultScopes } from '@kinora/contract/key-scope'
import type { Key } from '@kinora/contract/operations/admin/keys'

import { setKeyLimits } from '../../billing/spending/spending-store.ts'
import { uuidV7 } from '../../platform/ids/uuid.ts'
import type { Database } from '../../platform/postgres.ts'
import type { Secret } from '../../platform/secret.ts'
import type { Auditing } from '../admin-call.ts'
import { notFound } from '../given-id.ts'
import { addKey, findKeyRecord, hasPassed, type KeyRecord, type KeySettings } from './key-record-store.ts'
import { newSecret } from './new-secret.ts'
import { presentKey } from './present-key.ts'

export const newKeySettings: KeySettings = {
  name: '',
  role: null,
  scopes: [...defaultScopes],
  models: null,
  addresses: null,
  expiresAt: null,
  isDisabled: false,
  requestsPerMinute: null,
  limits: {},
  concurrency: null,
  dialect: 'reference',
}

export interface NewKey extends Pick<KeyRecord, 'accountId' | 'kind'> {
  settings: KeySettings
  spending: Parameters<typeof setKeyLimits>[2]
}

/** Adds a key and writes the audit entry. The secret is only in the response. */
export const addOneKey = async (
  database: Database,
  call: Pick<Auditing, 'audit'>,
  action: string,
  { accountId, kind, settings, spending }: NewKey,
  { keySecret, currency }: { keySecret: Secret; currency: string },
): Promise<{ key: Key; secret: string }> => {
  const { expiresAt } = settings
  if (expiresAt !== null && (await hasPassed(database, expiresAt))) {
    throw new ApiError('invalid_parameter', {
      param: 'expires_at',
      message: `'expires_at' must be in the future (got ${expiresAt.toISOString()}). A new key that has expired is of no use.`,
    })
  }
  const id = uuidV7()
  const { text, hash, hint } = newSecret(kind, keySecret)
  await addKey(database, { id, accountId, kind, hash, hint }, settings)
  await setKeyLimits(database, id, spending)
  const added = await findKeyRecord(database, id)
  if (added === undefined) throw notFound('key')
  const key = presentKey(added, currency)
  await call.audit(database, { action, target: id, after: key })
  return { key, secret: text }
}
