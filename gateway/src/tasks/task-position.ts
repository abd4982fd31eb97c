import { ApiError } from '@kinora/contract/errors'

import { findHoldTime } from '../billing/ledger/receipt-store.ts'
import { positionOfSecond, type ListPosition } from '../platform/list-position.ts'
import type { Database } from '../platform/postgres.ts'
import { findCreationTime } from './task-store.ts'
import type { TaskTables } from './task.ts'

/**
 * The list position of a task, for pagination. The position of a deleted task comes from the ledger, because its hold
 * has the same time.
 */
export const positionOfTask = async (
  database: Database,
  tables: TaskTables,
  { id, accountId, order }: { id: string; accountId: string; order: 'asc' | 'desc' },
  /** The time in the id; undefined if the text is not a task id. */
  createdAt: Date | undefined,
): Promise<ListPosition> => {
  if (createdAt === undefined) {
    throw new ApiError('invalid_parameter', {
      param: 'after',
      message: `'after' must be the id of a task (got '${id.slice(0, 60)}').`,
    })
  }
  const task = { id, day: createdAt.toISOString().slice(0, 10), accountId }
  const at = (await findCreationTime(database, tables, task)) ?? (await findHoldTime(database, task))
  return at === undefined ? positionOfSecond(createdAt, order) : { at, id }
}
