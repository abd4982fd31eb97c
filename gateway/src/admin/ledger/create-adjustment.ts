import type { adminOperations } from '@kinora/contract/admin-operations'
import { ApiError } from '@kinora/contract/errors'
import { AdjustmentBody } from '@kinora/contract/operations/admin/ledger'

import { adjust } from '../../billing/ledger/movements.ts'
import type { Postgres } from '../../platform/postgres.ts'
import type { AdminHandler } from '../admin-call.ts'
import { readAmounts } from '../read-amounts.ts'
import { makeMovement } from './make-movement.ts'

export const createAdjustment =
  ({ postgres }: { postgres: Postgres }): AdminHandler<typeof adminOperations.createAdjustment> =>
  async (call) => {
    const given = readAmounts(call, AdjustmentBody, call.operator.currency)
    if (given.amount_micros === 0) {
      throw new ApiError('invalid_parameter', {
        param: 'amount_micros',
        message: "'amount_micros' must not be 0.",
      })
    }
    return { body: await makeMovement(postgres, call, 'createAdjustment', given, adjust) }
  }
