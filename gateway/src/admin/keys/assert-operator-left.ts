import { ApiError } from '@kinora/contract/errors'

import type { Database } from '../../platform/postgres.ts'
import { isAnyOperatorLeft } from './key-record-store.ts'

/**
 * Rolls back a change that would leave no working operator key. Must run after the audit entry was written, which
 * serializes changes: otherwise two concurrent changes could each rely on the other's key.
 */
export const assertOperatorLeft = async (database: Database): Promise<void> => {
  if (await isAnyOperatorLeft(database)) return
  throw new ApiError('conflict', {
    message: 'This is the last working operator key. Create another one first.',
  })
}
