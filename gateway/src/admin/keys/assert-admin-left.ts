import { ApiError } from '@kinora/contract/errors'

import type { Database } from '../../platform/postgres.ts'
import { isAnyAdminLeft } from './key-record-store.ts'

/**
 * Rolls back a change that would leave no working operator key with the role `admin`. Must run after the audit entry was
 * written, which serializes changes: otherwise two concurrent changes could each rely on the other's key.
 */
export const assertAdminLeft = async (database: Database): Promise<void> => {
  if (await isAnyAdminLeft(database)) return
  throw new ApiError('conflict', {
    message: 'This is the last working operator key with the role admin. Create another one first.',
  })
}
