import { ApiError } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'

import { findOwnAccount } from '../../billing/budgets/account-budget-store.ts'
import type { Handler } from '../../http/call.ts'
import type { Database } from '../../platform/postgres.ts'
import { presentOwnAccount } from './present-own-account.ts'

export const getOwnAccount =
  ({ database }: { database: Database }): Handler<typeof operations.getOwnAccount> =>
  async ({ caller: { accountId, currency } }) => {
    const account = await findOwnAccount(database, accountId)
    if (account === undefined) throw new ApiError('invalid_api_key')
    return { body: presentOwnAccount(accountId, account, currency) }
  }
