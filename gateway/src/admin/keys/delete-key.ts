import type { adminOperations } from '@kinora/contract/admin-operations'

import { deleteKey as markKeyDeleted } from '../../auth/key-store.ts'
import type { Handler } from '../../http/call.ts'
import type { Postgres } from '../../platform/postgres.ts'
import { audited } from '../audit-log/audit.ts'
import { givenId, notFound } from '../given-id.ts'
import { assertOperatorLeft } from './assert-operator-left.ts'
import { lockKeyRecord } from './key-record-store.ts'
import { presentKey } from './present-key.ts'

export const deleteKey =
  ({
    postgres,
    forgetKeys,
  }: {
    postgres: Postgres
    forgetKeys: () => void
  }): Handler<typeof adminOperations.deleteKey> =>
  async (call) => {
    const id = givenId(call, 'key')
    await postgres.transaction(async (database) => {
      const key = await lockKeyRecord(database, id)
      if (key === undefined) throw notFound('key')
      await markKeyDeleted(database, id)
      await audited(database, call, {
        action: 'deleteKey',
        target: id,
        before: presentKey(key, call.operator.currency),
      })
      if (key.kind === 'admin') await assertOperatorLeft(database)
    })
    forgetKeys()
    return { body: { id, deleted: true } }
  }
