import type { adminOperations } from '@kinora/contract/admin-operations'

import type { Postgres } from '../../platform/postgres.ts'
import type { AdminHandler } from '../admin-call.ts'
import { readAnyTask } from './read-any-task.ts'

/** The only operation that shows what a customer sent. It is answered once the audit entry has been committed. */
export const getTaskOrder =
  ({ postgres }: { postgres: Postgres }): AdminHandler<typeof adminOperations.getTaskOrder> =>
  async (call) => {
    const { id, accountId, prompt, order } = await readAnyTask(postgres, call.path.id)
    await postgres.transaction((database) =>
      call.audit(database, { action: 'getTaskOrder', target: id, after: { account_id: accountId } }),
    )
    return { body: { id, object: 'task.order', account_id: accountId, prompt, order } }
  }
