import type { Account } from '@kinora/contract/operations/admin/accounts'

import type { Database, Postgres } from '../../platform/postgres.ts'
import type { Auditing } from '../admin-call.ts'
import { givenId, notFound } from '../given-id.ts'
import { findAccount, lockAccount, type AccountRecord } from './account-store.ts'
import { assertNotErased } from './assert-not-erased.ts'
import { presentAccount } from './present-account.ts'

/** Changes the account of the path and writes the audit entry, in one transaction; returns the changed account. */
export const changeOneAccount = async (
  postgres: Postgres,
  call: Auditing,
  action: string,
  change: (database: Database, account: AccountRecord) => Promise<unknown>,
): Promise<Account> => {
  const id = givenId(call, 'account')
  return postgres.transaction(async (database) => {
    const present = await lockAccount(database, id)
    assertNotErased(present)
    await change(database, present)
    const changed = await findAccount(database, id)
    if (changed === undefined) throw notFound('account')
    const after = presentAccount(changed, call.operator.currency)
    await call.audit(database, {
      action,
      target: id,
      before: presentAccount(present, call.operator.currency),
      after,
    })
    return after
  })
}
