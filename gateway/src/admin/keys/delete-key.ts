import type { adminOperations } from '@kinora/contract/admin-operations'

import { deleteKey as markKeyDeleted } from '../../auth/key-store.ts'
import type { Postgres } from '../../platform/postgres.ts'
import type { AdminHandler } from '../admin-call.ts'
import { givenId, notFound } from '../given-id.ts'
import { assertAdminLeft } from './assert-admin-left.ts'
import { assertMayManage } from './assert-may-manage.ts'
import { lockKeyRecord } from './key-record-store.ts'
import { presentKey } from './present-key.ts'

export const deleteKey =
  ({
    postgres,
    forgetKeys,
  }: {
    postgres: Postgres
    forgetKeys: () => void
  }): AdminHandler<typeof adminOperations.deleteKey> =>
  async (call) => {
    const id = givenId(call, 'key')
    await postgres.transaction(async (database) => {
      const key = await lockKeyRecord(database, id)
      if (key === undefined) throw notFound('key')
      assertMayManage(call.operator, key)
      await markKeyDeleted(database, id)
      await call.audit(database, {
        action: 'deleteKey',
        target: id,
        before: presentKey(key, call.operator.currency),
      })
      if (key.kind === 'admin') await assertAdminLeft(database)
    })
    forgetKeys()
    return { body: { id, deleted: true } }
  }
