/**
 * Lists tasks by their metadata or other filters. There is no index for them: the list is read in its order, and other tasks
 * are skipped. The timeout bounds a search for something rare in an account with millions of tasks.
 */
import { ApiError } from '@kinora/contract/errors'

import { StatementTimeout } from '../platform/postgres-errors.ts'
import type { Database, Postgres } from '../platform/postgres.ts'

const defaultTimeoutMs = 5_000

/** Calls `list` with the filter, and bounds its time if there is one. `param` is the parameter to blame. */
export const searchByMetadata = async <Item>(
  postgres: Postgres,
  filter: readonly unknown[],
  list: (database: Database) => Promise<Item[]>,
  statementTimeoutMs = defaultTimeoutMs,
  param = 'metadata',
): Promise<Item[]> => {
  if (filter.length === 0) return list(postgres)
  try {
    return await postgres.transaction(list, { statementTimeoutMs })
  } catch (error) {
    if (!(error instanceof StatementTimeout)) throw error
    throw new ApiError('invalid_parameter', {
      param,
      message: `Too few of the account's many tasks match '${param}' to find a page of them in ${statementTimeoutMs / 1000} seconds. Use a smaller 'limit', or start at a later task with 'after'.`,
      cause: error,
    })
  }
}
