import type { adminOperations } from '@kinora/contract/admin-operations'
import { RefundBody } from '@kinora/contract/operations/admin/ledger'

import { refund } from '../../billing/spending/refund.ts'
import type { Postgres } from '../../platform/postgres.ts'
import { findAccount } from '../accounts/account-store.ts'
import type { AdminHandler } from '../admin-call.ts'
import { actorOf } from '../audit-log/audit.ts'
import { notFound } from '../given-id.ts'
import { readAmounts } from '../read-amounts.ts'
import { presentMade } from './make-movement.ts'

/** A repeated refund moves no money and writes no audit entry. */
export const createRefund =
  ({ postgres }: { postgres: Postgres }): AdminHandler<typeof adminOperations.createRefund> =>
  async (call) => {
    const {
      amount_micros: amountMicros,
      reason,
      reference,
    } = readAmounts(call, RefundBody, call.operator.currency)
    const { id: taskId } = call.path
    const { currency } = call.operator
    const body = await postgres.transaction(async (database) => {
      const made = await refund(database, {
        ...{ taskId, amountMicros, currency, reason, reference, actor: actorOf(call.operator) },
      })
      const account = await findAccount(database, made.movement.accountId)
      if (account === undefined) throw notFound('account')
      const after = {
        ...presentMade(made, { accountName: account.name, taskId, currency }),
        captured_micros: made.capturedMicros,
        refunded_micros: made.refundedMicros,
      }
      if (!made.isRepeat) await call.audit(database, { action: 'createRefund', target: taskId, after })
      return after
    })
    return { body }
  }
