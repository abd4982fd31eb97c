import type { operations } from '@kinora/contract/operations'

import { microseconds, pageOf, readCursor, rowsFor, uuid } from '../admin/page.ts'
import type { Handler } from '../http/call.ts'
import { listSessionRows } from './console-session-store.ts'
import { findCurrentSession, visibilityOf } from './current-session.ts'
import { presentListedSession } from './present-session.ts'
import type { SignInDependencies } from './sign-in.ts'

const list = 'console-sessions'

export const listConsoleSessions =
  ({
    postgres,
    authenticate,
    servesOperators,
  }: SignInDependencies): Handler<typeof operations.listConsoleSessions> =>
  async (call) => {
    const holder = await findCurrentSession(authenticate, call)
    const rows = await listSessionRows(postgres, visibilityOf(holder, { servesOperators }), {
      after: readCursor(call, list, [microseconds, uuid]),
      limit: rowsFor(call),
    })
    const seen = { currentId: holder.session.id, isForOperator: holder.operator !== undefined }
    return {
      body: pageOf(
        call,
        list,
        rows,
        (row) => presentListedSession(row, seen),
        ({ createdMicroseconds, id }) => [createdMicroseconds, id],
      ),
    }
  }
