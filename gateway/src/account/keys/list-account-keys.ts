import type { operations } from '@kinora/contract/operations'

import { listKeyRecords } from '../../admin/keys/key-record-store.ts'
import { presentKey } from '../../admin/keys/present-key.ts'
import { microseconds, pageOf, readCursor, rowsFor, uuid } from '../../admin/page.ts'
import type { Handler } from '../../http/call.ts'
import type { Database } from '../../platform/postgres.ts'
import { presentAccountKey } from './present-account-key.ts'

export const listAccountKeys =
  ({ database }: { database: Database }): Handler<typeof operations.listAccountKeys> =>
  async (call) => {
    const { accountId, currency } = call.caller
    const rows = await listKeyRecords(database, {
      accountId,
      kind: undefined,
      after: readCursor(call, 'account-keys', [microseconds, uuid]),
      limit: rowsFor(call),
    })
    return {
      body: pageOf(
        call,
        'account-keys',
        rows,
        (row) => presentAccountKey(presentKey(row, currency)),
        ({ createdMicroseconds, id }) => [createdMicroseconds, id],
      ),
    }
  }
