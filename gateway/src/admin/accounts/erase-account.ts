import type { adminOperations } from '@kinora/contract/admin-operations'

import { readClock } from '../../billing/ledger/movement-store.ts'
import { beginErasure } from '../../erasure/begin-erasure.ts'
import type { ErasureList } from '../../erasure/erasure-list.ts'
import { findErasure } from '../../erasure/erasure-store.ts'
import type { Postgres } from '../../platform/postgres.ts'
import type { AdminHandler } from '../admin-call.ts'
import { givenId, notFound } from '../given-id.ts'
import { findAccount } from './account-store.ts'
import { presentErasure } from './present-erasure.ts'

/**
 * The entry of the list is written first. If the transaction fails afterwards, a worker begins the erasure from the list, so a
 * request that was accepted is never forgotten.
 */
export const eraseAccount =
  ({
    postgres,
    erasureList,
    forgetKeys,
  }: {
    postgres: Postgres
    erasureList: ErasureList
    forgetKeys: () => void
  }): AdminHandler<typeof adminOperations.eraseAccount> =>
  async (call) => {
    const accountId = givenId(call, 'account')
    if ((await findAccount(postgres, accountId)) === undefined) throw notFound('account')
    if ((await findErasure(postgres, accountId)) === undefined) {
      const entry = { accountId, requestedAt: await readClock(postgres), operatorKeyId: call.operator.keyId }
      await erasureList.add(entry)
      await postgres.transaction(async (database) => {
        if (!(await beginErasure(database, entry))) return
        await call.audit(database, { action: 'eraseAccount', target: accountId })
      })
      forgetKeys()
    }
    const erasure = await findErasure(postgres, accountId)
    if (erasure === undefined) throw notFound('account')
    return { body: presentErasure(erasure) }
  }
