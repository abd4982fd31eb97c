import type { adminOperations } from '@kinora/contract/admin-operations'
import { ApiError } from '@kinora/contract/errors'
import { SubscriptionBody } from '@kinora/contract/operations/admin/accounts'

import { setSubscription as subscribe } from '../../billing/subscriptions/subscriptions.ts'
import type { Postgres } from '../../platform/postgres.ts'
import type { AdminHandler } from '../admin-call.ts'
import { actorOf } from '../audit-log/audit.ts'
import { uuid } from '../page.ts'
import { timeOfSeconds } from '../unix-time.ts'
import { changeOneAccount } from './change-one-account.ts'

export const setSubscription =
  ({ postgres }: { postgres: Postgres }): AdminHandler<typeof adminOperations.setSubscription> =>
  async (call) => {
    const { plan_id: planId, ends_at: endsAt } = call.read(SubscriptionBody)
    if (!uuid.test(planId)) {
      throw new ApiError('resource_not_found', {
        param: 'plan_id',
        message: 'There is no plan with this id.',
      })
    }
    const body = await changeOneAccount(postgres, call, 'setSubscription', (database, account) =>
      subscribe(database, {
        accountId: account.id,
        planId,
        endsAt: timeOfSeconds(endsAt),
        actor: actorOf(call.operator),
      }),
    )
    return { body }
  }
