import type { adminOperations } from '@kinora/contract/admin-operations'
import { KeyChange } from '@kinora/contract/operations/admin/keys'

import { setKeyLimits } from '../../billing/spending/spending-store.ts'
import type { Catalog } from '../../models/catalog.ts'
import type { Postgres } from '../../platform/postgres.ts'
import type { AdminHandler } from '../admin-call.ts'
import { givenId, notFound } from '../given-id.ts'
import { readAmounts } from '../read-amounts.ts'
import { assertAdminLeft } from './assert-admin-left.ts'
import { assertMayManage } from './assert-may-manage.ts'
import { changeKey, findKeyRecord, lockKeyRecord } from './key-record-store.ts'
import { presentKey } from './present-key.ts'
import { assertFits, readKeyChange, readSpendingLimits } from './read-key-change.ts'

export const updateKey =
  ({
    postgres,
    catalog,
    forgetKeys,
  }: {
    postgres: Postgres
    catalog: Catalog
    forgetKeys: () => void
  }): AdminHandler<typeof adminOperations.updateKey> =>
  async (call) => {
    const id = givenId(call, 'key')
    const given = readAmounts(call, KeyChange, call.operator.currency)
    const spending = readSpendingLimits(given)
    const body = await postgres.transaction(async (database) => {
      const present = await lockKeyRecord(database, id)
      if (present === undefined) throw notFound('key')
      assertMayManage(call.operator, present)
      assertFits(present, given)
      await changeKey(database, id, readKeyChange(present, given, catalog))
      await setKeyLimits(database, id, spending)
      const changed = await findKeyRecord(database, id)
      if (changed === undefined) throw notFound('key')
      const after = presentKey(changed, call.operator.currency)
      await call.audit(database, {
        action: 'updateKey',
        target: id,
        before: presentKey(present, call.operator.currency),
        after,
      })
      if (present.kind === 'admin') await assertAdminLeft(database)
      return after
    })
    forgetKeys()
    return { body }
  }
