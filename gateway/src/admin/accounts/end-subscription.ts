import type { adminOperations } from '@kinora/contract/admin-operations'

import { endSubscription as finishSubscription } from '../../billing/subscriptions/subscriptions.ts'
import type { Postgres } from '../../platform/postgres.ts'
import type { AdminHandler } from '../admin-call.ts'
import { actorOf } from '../audit-log/audit.ts'
import { changeOneAccount } from './change-one-account.ts'

export const endSubscription =
  ({ postgres }: { postgres: Postgres }): AdminHandler<typeof adminOperations.endSubscription> =>
  async (call) => {
    const body = await changeOneAccount(postgres, call, 'endSubscription', (database, account) =>
      finishSubscription(database, { accountId: account.id, actor: actorOf(call.operator) }),
    )
    return { body }
  }
