import type { adminOperations } from '@kinora/contract/admin-operations'

import type { Handler } from '../../http/call.ts'
import type { Database } from '../../platform/postgres.ts'
import { givenId, notFound } from '../given-id.ts'
import { findKeyRecord } from './key-record-store.ts'
import { presentKey } from './present-key.ts'

export const getKey =
  ({ database }: { database: Database }): Handler<typeof adminOperations.getKey> =>
  async (call) => {
    const key = await findKeyRecord(database, givenId(call, 'key'))
    if (key === undefined) throw notFound('key')
    return { body: presentKey(key, call.operator.currency) }
  }
