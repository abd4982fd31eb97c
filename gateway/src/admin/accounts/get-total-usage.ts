import type { adminOperations } from '@kinora/contract/admin-operations'

import type { Handler } from '../../http/call.ts'
import type { Postgres } from '../../platform/postgres.ts'
import { operatorView, readUsage } from '../../usage/read-usage.ts'
import { givenOwner } from './given-owner.ts'

export const getTotalUsage =
  ({ postgres }: { postgres: Postgres }): Handler<typeof adminOperations.getTotalUsage> =>
  async (call) => {
    const scope = {
      ...(await givenOwner(postgres, call)),
      model: call.query.model,
      currency: call.operator.currency,
    }
    return readUsage(postgres, call.query, scope, operatorView)
  }
