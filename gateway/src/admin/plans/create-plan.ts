import type { adminOperations } from '@kinora/contract/admin-operations'
import { PlanBody } from '@kinora/contract/operations/admin/plans'

import { uuidV7 } from '../../platform/ids/uuid.ts'
import type { Postgres } from '../../platform/postgres.ts'
import type { AdminHandler } from '../admin-call.ts'
import { notFound } from '../given-id.ts'
import { readAmounts } from '../read-amounts.ts'
import { addPlan, findPlan } from './plan-store.ts'
import { nameTaken, presentPlan } from './present-plan.ts'

export const createPlan =
  ({ postgres }: { postgres: Postgres }): AdminHandler<typeof adminOperations.createPlan> =>
  async (call) => {
    const given = readAmounts(call, PlanBody, call.operator.currency)
    const id = uuidV7()
    const plan = await postgres.transaction(async (database) => {
      const terms = {
        name: given.name,
        cycleQuotaMicros: given.cycle_quota_micros,
        cycleDays: given.cycle_days,
      }
      if (!(await addPlan(database, id, terms))) throw nameTaken()
      const added = await findPlan(database, id)
      if (added === undefined) throw notFound('plan')
      const after = presentPlan(added, call.operator.currency)
      await call.audit(database, { action: 'createPlan', target: id, after })
      return after
    })
    return { body: plan }
  }
