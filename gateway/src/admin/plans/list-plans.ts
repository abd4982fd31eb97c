import type { adminOperations } from '@kinora/contract/admin-operations'

import type { Handler } from '../../http/call.ts'
import type { Database } from '../../platform/postgres.ts'
import { microseconds, pageOf, readCursor, rowsFor, uuid } from '../page.ts'
import { listPlanRecords } from './plan-store.ts'
import { presentPlan } from './present-plan.ts'

export const listPlans =
  ({ database }: { database: Database }): Handler<typeof adminOperations.listPlans> =>
  async (call) => {
    const after = readCursor(call, 'plans', [microseconds, uuid])
    const rows = await listPlanRecords(database, { after, limit: rowsFor(call) })
    return {
      body: pageOf(
        call,
        'plans',
        rows,
        (row) => presentPlan(row, call.operator.currency),
        ({ createdMicroseconds, id }) => [createdMicroseconds, id],
      ),
    }
  }
