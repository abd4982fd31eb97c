import type { adminOperations } from '@kinora/contract/admin-operations'
import { TopUpBody } from '@kinora/contract/operations/admin/ledger'

import { topUp } from '../../billing/ledger/movements.ts'
import type { Postgres } from '../../platform/postgres.ts'
import type { AdminHandler } from '../admin-call.ts'
import { readAmounts } from '../read-amounts.ts'
import { makeMovement } from './make-movement.ts'

export const createTopUp =
  ({ postgres }: { postgres: Postgres }): AdminHandler<typeof adminOperations.createTopUp> =>
  async (call) => ({
    body: await makeMovement(
      postgres,
      call,
      'createTopUp',
      readAmounts(call, TopUpBody, call.operator.currency),
      topUp,
    ),
  })
