import type { operations } from '@kinora/contract/operations'

import { givenId } from '../../admin/given-id.ts'
import { presentKey } from '../../admin/keys/present-key.ts'
import type { Handler } from '../../http/call.ts'
import type { Database } from '../../platform/postgres.ts'
import { findOwnKey } from './manage-keys.ts'
import { presentAccountKey } from './present-account-key.ts'

export const getAccountKey =
  ({ database }: { database: Database }): Handler<typeof operations.getAccountKey> =>
  async (call) => {
    const key = await findOwnKey(database, givenId(call, 'key'), call.caller)
    return { body: presentAccountKey(presentKey(key, call.caller.currency)) }
  }
