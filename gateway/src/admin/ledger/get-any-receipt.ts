import type { adminOperations } from '@kinora/contract/admin-operations'
import { ApiError } from '@kinora/contract/errors'

import { readReceipt } from '../../billing/ledger/receipt.ts'
import type { Handler } from '../../http/call.ts'
import type { Database } from '../../platform/postgres.ts'

export const getAnyReceipt =
  ({ database }: { database: Database }): Handler<typeof adminOperations.getAnyReceipt> =>
  async ({ path: { id }, operator: { currency } }) => {
    const found = await readReceipt(database, { id, currency })
    if (found === undefined) throw new ApiError('task_not_found')
    const { provider, costMicros, capturedMicros } = found.charged
    const margin = capturedMicros === null || costMicros === null ? null : capturedMicros - costMicros
    return { body: { ...found.receipt, provider, cost_micros: costMicros, margin_micros: margin } }
  }
