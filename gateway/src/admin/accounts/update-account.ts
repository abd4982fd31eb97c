import type { adminOperations } from '@kinora/contract/admin-operations'
import { AccountChange } from '@kinora/contract/operations/admin/accounts'

import type { Postgres } from '../../platform/postgres.ts'
import type { AdminHandler } from '../admin-call.ts'
import { readAmounts } from '../read-amounts.ts'
import { changeAccount } from './account-store.ts'
import { changeOneAccount } from './change-one-account.ts'
import { readAccountChange } from './read-account-change.ts'

export const updateAccount =
  ({
    postgres,
    forgetKeys,
  }: {
    postgres: Postgres
    /** Cached keys include their account. */
    forgetKeys: () => void
  }): AdminHandler<typeof adminOperations.updateAccount> =>
  async (call) => {
    const given = readAmounts(call, AccountChange, call.operator.currency)
    const body = await changeOneAccount(postgres, call, 'updateAccount', (database, account) =>
      changeAccount(database, account.id, readAccountChange(account, given)),
    )
    forgetKeys()
    return { body }
  }
