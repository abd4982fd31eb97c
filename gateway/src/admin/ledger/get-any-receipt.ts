import type { adminOperations } from '@kinora/contract/admin-operations'
import { ApiError } from '@kinora/contract/errors'

import { readReceipt } from '../../billing/ledger/receipt.ts'
import type { Handler } from '../../http/call.ts'
import type { Database } from '../../platform/postgres.ts'

export const getAnyReceipt =
  ({ database }: { database: Database }): Handler<typeof adminOperations.getAnyReceipt> =>
  async ({ path: { id }, operator: { currency } }) => {
    const body = await readReceipt(database, { id, currency })
    if (body === undefined) throw new ApiError('task_not_found')
    return { body }
  }
