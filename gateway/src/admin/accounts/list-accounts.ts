import type { adminOperations } from '@kinora/contract/admin-operations'

import type { Handler } from '../../http/call.ts'
import type { Database } from '../../platform/postgres.ts'
import { microseconds, pageOf, readCursor, rowsFor, uuid } from '../page.ts'
import { listAccountRecords } from './account-store.ts'
import { presentAccount } from './present-account.ts'

export const listAccounts =
  ({ database }: { database: Database }): Handler<typeof adminOperations.listAccounts> =>
  async (call) => {
    const { name, status } = call.query
    const after = readCursor(call, 'accounts', [microseconds, uuid])
    const rows = await listAccountRecords(database, { name, status, after, limit: rowsFor(call) })
    return {
      body: pageOf(
        call,
        'accounts',
        rows,
        (row) => presentAccount(row, call.operator.currency),
        ({ createdMicroseconds, id }) => [createdMicroseconds, id],
      ),
    }
  }
