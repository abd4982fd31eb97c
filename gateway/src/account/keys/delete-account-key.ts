import type { operations } from '@kinora/contract/operations'

import { givenId } from '../../admin/given-id.ts'
import { presentKey } from '../../admin/keys/present-key.ts'
import { deleteKey } from '../../auth/key-store.ts'
import type { Postgres } from '../../platform/postgres.ts'
import type { SelfServiceHandler } from '../self-service-call.ts'
import { findOwnKey, lockCallingKey } from './manage-keys.ts'

/** Any key of the account can be deleted: that gives nobody a right. */
export const deleteAccountKey =
  ({
    postgres,
    forgetKeys,
  }: {
    postgres: Postgres
    forgetKeys: () => void
  }): SelfServiceHandler<typeof operations.deleteAccountKey> =>
  async (call) => {
    const id = givenId(call, 'key')
    await postgres.transaction(async (database) => {
      await lockCallingKey(database, call.caller)
      const present = await findOwnKey(database, id, call.caller)
      await deleteKey(database, id)
      await call.audit(database, {
        action: 'deleteAccountKey',
        target: id,
        before: presentKey(present, call.caller.currency),
      })
    })
    forgetKeys()
    return { body: { id, deleted: true } }
  }
