import { ApiError } from '@kinora/contract/errors'

import { notFound } from '../given-id.ts'
import type { AccountRecord } from './account-store.ts'

/** An erased account is only in the ledger. */
export function assertNotErased(account: AccountRecord | undefined): asserts account is AccountRecord {
  if (account === undefined) throw notFound('account')
  if (account.erasedAt === null) return
  throw new ApiError('resource_not_found', {
    message: 'This account is erased. It cannot be changed; create another one.',
  })
}
