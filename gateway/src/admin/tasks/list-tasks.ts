import type { adminOperations } from '@kinora/contract/admin-operations'

import type { Handler } from '../../http/call.ts'
import type { Postgres } from '../../platform/postgres.ts'
import { givenOwner } from '../accounts/given-owner.ts'
import { idText, microseconds, pageOf, readCursor, rowsFor } from '../page.ts'
import { givenTime } from '../unix-time.ts'
import { presentTask } from './present-task.ts'
import { searchTasks } from './task-store.ts'

const statementTimeoutMs = 10_000

export const listTasks =
  ({ postgres }: { postgres: Postgres }): Handler<typeof adminOperations.listTasks> =>
  async (call) => {
    const { model, provider, status, error_code: errorCode, from, to } = call.query
    const after = readCursor(call, 'tasks', [microseconds, idText])
    const filter = {
      ...(await givenOwner(postgres, call)),
      model,
      provider,
      states: status?.split(','),
      errorCode,
      from: givenTime(from),
      to: givenTime(to),
      after,
      limit: rowsFor(call),
    }
    const found = await postgres.transaction((database) => searchTasks(database, filter), {
      statementTimeoutMs,
    })
    return {
      body: pageOf(
        call,
        'tasks',
        found,
        (task) => presentTask(task, call.operator.currency),
        ({ createdMicroseconds, id }) => [createdMicroseconds, id],
      ),
    }
  }
