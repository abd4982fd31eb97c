import type { adminOperations } from '@kinora/contract/admin-operations'
import { PlanChange } from '@kinora/contract/operations/admin/plans'

import type { Postgres } from '../../platform/postgres.ts'
import type { AdminHandler } from '../admin-call.ts'
import { givenId, notFound } from '../given-id.ts'
import { readAmounts } from '../read-amounts.ts'
import { changePlan, findPlan, lockPlan } from './plan-store.ts'
import { nameTaken, presentPlan } from './present-plan.ts'

export const updatePlan =
  ({ postgres }: { postgres: Postgres }): AdminHandler<typeof adminOperations.updatePlan> =>
  async (call) => {
    const id = givenId(call, 'plan')
    const given = readAmounts(call, PlanChange, call.operator.currency)
    const plan = await postgres.transaction(async (database) => {
      const present = await lockPlan(database, id)
      if (present === undefined) throw notFound('plan')
      const terms = {
        name: given.name ?? present.name,
        cycleQuotaMicros: given.cycle_quota_micros ?? present.cycleQuotaMicros,
        cycleDays: given.cycle_days ?? present.cycleDays,
      }
      if (!(await changePlan(database, id, terms))) throw nameTaken()
      const changed = await findPlan(database, id)
      if (changed === undefined) throw notFound('plan')
      const after = presentPlan(changed, call.operator.currency)
      await call.audit(database, {
        action: 'updatePlan',
        target: id,
        before: presentPlan(present, call.operator.currency),
        after,
      })
      return after
    })
    return { body: plan }
  }
