import type { adminOperations } from '@kinora/contract/admin-operations'

import type { Handler } from '../../http/call.ts'
import type { Database } from '../../platform/postgres.ts'
import { givenId, notFound } from '../given-id.ts'
import { findAccount } from './account-store.ts'
import { presentAccount } from './present-account.ts'

export const getAccount =
  ({ database }: { database: Database }): Handler<typeof adminOperations.getAccount> =>
  async (call) => {
    const account = await findAccount(database, givenId(call, 'account'))
    if (account === undefined) throw notFound('account')
    return { body: presentAccount(account, call.operator.currency) }
  }
