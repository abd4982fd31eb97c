import { findAccountOfKey } from '../../auth/key-store.ts'
import type { Call } from '../../http/call.ts'
import type { Database } from '../../platform/postgres.ts'
import { givenFilterId } from '../given-id.ts'

/** No account has this id. */
const noAccountId = '00000000-0000-0000-0000-000000000000'

/** The account and the key of a filter. The account of a key is added, because the indexes begin with the account. */
export const givenOwner = async (
  database: Database,
  call: Pick<Call, 'query'>,
): Promise<{ accountId: string | undefined; keyId: string | undefined }> => {
  const accountId = givenFilterId(call, 'account_id')
  const keyId = givenFilterId(call, 'key_id')
  if (keyId === undefined || accountId !== undefined) return { accountId, keyId }
  return { accountId: (await findAccountOfKey(database, keyId)) ?? noAccountId, keyId }
}
