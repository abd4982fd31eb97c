import type { adminOperations } from '@kinora/contract/admin-operations'
import { RotateBody } from '@kinora/contract/key-fields'

import type { Postgres } from '../../platform/postgres.ts'
import type { Secret } from '../../platform/secret.ts'
import type { AdminHandler } from '../admin-call.ts'
import { givenId, notFound } from '../given-id.ts'
import { assertMayManage } from './assert-may-manage.ts'
import { lockKeyRecord } from './key-record-store.ts'
import { presentKey } from './present-key.ts'
import { rotateSecret } from './rotate-secret.ts'

export const rotateKey =
  ({
    postgres,
    keySecret,
    forgetKeys,
  }: {
    postgres: Postgres
    keySecret: Secret
    forgetKeys: () => void
  }): AdminHandler<typeof adminOperations.rotateKey> =>
  async (call) => {
    const id = givenId(call, 'key')
    const { overlap_seconds: overlapSeconds = 0 } = call.read(RotateBody)
    const { currency } = call.operator
    const body = await postgres.transaction(async (database) => {
      const present = await lockKeyRecord(database, id)
      if (present === undefined) throw notFound('key')
      assertMayManage(call.operator, present)
      const rotated = await rotateSecret(database, present, overlapSeconds, { keySecret, currency })
      await call.audit(database, {
        action: 'rotateKey',
        target: id,
        before: presentKey(present, currency),
        after: rotated.key,
      })
      return rotated
    })
    forgetKeys()
    return { body }
  }
