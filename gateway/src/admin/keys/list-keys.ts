import type { adminOperations } from '@kinora/contract/admin-operations'

import type { Handler } from '../../http/call.ts'
import type { Database } from '../../platform/postgres.ts'
import { givenFilterId } from '../given-id.ts'
import { microseconds, pageOf, readCursor, rowsFor, uuid } from '../page.ts'
import { listKeyRecords } from './key-record-store.ts'
import { presentKey } from './present-key.ts'

export const listKeys =
  ({ database }: { database: Database }): Handler<typeof adminOperations.listKeys> =>
  async (call) => {
    const rows = await listKeyRecords(database, {
      accountId: givenFilterId(call, 'account_id'),
      kind: call.query.kind,
      after: readCursor(call, 'keys', [microseconds, uuid]),
      limit: rowsFor(call),
    })
    return {
      body: pageOf(
        call,
        'keys',
        rows,
        (row) => presentKey(row, call.operator.currency),
        ({ createdMicroseconds, id }) => [createdMicroseconds, id],
      ),
    }
  }
