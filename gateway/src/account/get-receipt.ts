import { ApiError } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'

import { readReceipt } from '../billing/ledger/receipt.ts'
import type { Handler } from '../http/call.ts'
import type { Database } from '../platform/postgres.ts'

/** Available to every key of the account. */
export const getReceipt =
  ({ database }: { database: Database }): Handler<typeof operations.getReceipt> =>
  async ({ path: { id }, caller: { accountId, currency } }) => {
    const found = await readReceipt(database, { id, currency, accountId })
    if (found === undefined) throw new ApiError('task_not_found')
    return { body: found.receipt }
  }
