import { ApiError } from '@kinora/contract/errors'

import type { Database } from '../../platform/postgres.ts'
import { isAnyOperatorLeft } from './key-record-store.ts'

/**
 * Undoes a change after which nobody could operate the service any more. Asked after the change was written to the
 * audit log, because from there on changes take turns: two of them cannot each leave it to the other.
 */
export const assertOperatorLeft = async (database: Database): Promise<void> => {
  if (await isAnyOperatorLeft(database)) return
  throw new ApiError('conflict', {
    message: "This is the last operator's key that works; make another one first.",
  })
}
