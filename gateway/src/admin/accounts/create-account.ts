import type { adminOperations } from '@kinora/contract/admin-operations'
import { AccountBody } from '@kinora/contract/operations/admin/accounts'

import { uuidV7 } from '../../platform/ids/uuid.ts'
import type { Postgres } from '../../platform/postgres.ts'
import type { AdminHandler } from '../admin-call.ts'
import { notFound } from '../given-id.ts'
import { readAmounts } from '../read-amounts.ts'
import { addAccount, findAccount, type AccountSettings } from './account-store.ts'
import { presentAccount } from './present-account.ts'
import { readAccountChange } from './read-account-change.ts'

const newAccount: Omit<AccountSettings, 'name'> = {
  status: 'active',
  paymentState: 'ok',
  spendCapMicros: null,
  concurrency: null,
  mediaRetentionDays: null,
  taskRetentionDays: null,
}

export const createAccount =
  ({ postgres }: { postgres: Postgres }): AdminHandler<typeof adminOperations.createAccount> =>
  async (call) => {
    const { name, ...settings } = readAmounts(call, AccountBody, call.operator.currency)
    const id = uuidV7()
    const account = await postgres.transaction(async (database) => {
      await addAccount(database, id, readAccountChange({ ...newAccount, name }, settings))
      const added = await findAccount(database, id)
      if (added === undefined) throw notFound('account')
      const after = presentAccount(added, call.operator.currency)
      await call.audit(database, { action: 'createAccount', target: id, after })
      return after
    })
    return { body: account }
  }
