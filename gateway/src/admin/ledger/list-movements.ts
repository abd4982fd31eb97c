import type { adminOperations } from '@kinora/contract/admin-operations'

import type { Handler } from '../../http/call.ts'
import type { Database } from '../../platform/postgres.ts'
import { findAccount } from '../accounts/account-store.ts'
import { givenId, notFound } from '../given-id.ts'
import { microseconds, pageOf, readCursor, rowsFor } from '../page.ts'
import { listMovementRecords } from './ledger-list-store.ts'
import { presentMovement } from './present-movement.ts'

const movementId = /^mov_[0-9a-f-]{36}$/

export const listMovements =
  ({ database }: { database: Database }): Handler<typeof adminOperations.listMovements> =>
  async (call) => {
    const accountId = givenId(call, 'account')
    const after = readCursor(call, 'movements', [microseconds, movementId])
    if ((await findAccount(database, accountId)) === undefined) throw notFound('account')
    const rows = await listMovementRecords(database, { accountId, after, limit: rowsFor(call) })
    return {
      body: pageOf(
        call,
        'movements',
        rows,
        (row) => presentMovement(row, call.operator.currency),
        ({ createdMicroseconds, id }) => [createdMicroseconds, id],
      ),
    }
  }
