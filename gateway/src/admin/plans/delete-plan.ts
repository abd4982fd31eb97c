import type { adminOperations } from '@kinora/contract/admin-operations'
import { ApiError } from '@kinora/contract/errors'

import type { Postgres } from '../../platform/postgres.ts'
import type { AdminHandler } from '../admin-call.ts'
import { givenId, notFound } from '../given-id.ts'
import { lockPlan, removePlan } from './plan-store.ts'
import { presentPlan } from './present-plan.ts'

export const deletePlan =
  ({ postgres }: { postgres: Postgres }): AdminHandler<typeof adminOperations.deletePlan> =>
  async (call) => {
    const id = givenId(call, 'plan')
    await postgres.transaction(async (database) => {
      const plan = await lockPlan(database, id)
      if (plan === undefined) throw notFound('plan')
      if (plan.subscribers > 0) {
        throw new ApiError('conflict', {
          message: `${plan.subscribers} accounts are subscribed to this plan. Move them to another plan first.`,
        })
      }
      await removePlan(database, id)
      await call.audit(database, {
        action: 'deletePlan',
        target: id,
        before: presentPlan(plan, call.operator.currency),
      })
    })
    return { body: { id, deleted: true } }
  }
