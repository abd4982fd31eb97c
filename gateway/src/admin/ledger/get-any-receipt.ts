import type { adminOperations } from '@kinora/contract/admin-operations'
import { ApiError } from '@kinora/contract/errors'

import { readReceipt } from '../../billing/ledger/receipt.ts'
import type { Handler } from '../../http/call.ts'
import type { Database } from '../../platform/postgres.ts'
import { findNames } from '../accounts/account-store.ts'

export const getAnyReceipt =
  ({ database }: { database: Database }): Handler<typeof adminOperations.getAnyReceipt> =>
  async ({ path: { id }, operator: { currency } }) => {
    const found = await readReceipt(database, { id, currency })
    if (found === undefined) throw new ApiError('task_not_found')
    const { receipt, charged } = found
    const { accountId, keyId, provider, costMicros, capturedMicros } = charged
    const margin =
      capturedMicros === null || costMicros === null
        ? null
        : capturedMicros - receipt.refunded_micros - costMicros
    return {
      body: {
        ...receipt,
        ...{ account_id: accountId, key_id: keyId, ...(await findNames(database, { accountId, keyId })) },
        ...{ provider, cost_micros: costMicros, margin_micros: margin },
      },
    }
  }
