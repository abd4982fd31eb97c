import type { adminOperations } from '@kinora/contract/admin-operations'

import type { Handler } from '../../http/call.ts'
import type { Database } from '../../platform/postgres.ts'
import { givenId, notFound } from '../given-id.ts'
import { findPlan } from './plan-store.ts'
import { presentPlan } from './present-plan.ts'

export const getPlan =
  ({ database }: { database: Database }): Handler<typeof adminOperations.getPlan> =>
  async (call) => {
    const plan = await findPlan(database, givenId(call, 'plan'))
    if (plan === undefined) throw notFound('plan')
    return { body: presentPlan(plan, call.operator.currency) }
  }
