import { ApiError } from '@kinora/contract/errors'
import type { Plan } from '@kinora/contract/operations/admin/plans'

import { secondsOf } from '../unix-time.ts'
import type { PlanRecord } from './plan-store.ts'

export const presentPlan = (plan: PlanRecord, currency: string): Plan => ({
  id: plan.id,
  object: 'plan',
  name: plan.name,
  cycle_quota_micros: plan.cycleQuotaMicros,
  currency,
  cycle_days: plan.cycleDays,
  subscribers: plan.subscribers,
  created_at: secondsOf(plan.createdAt),
})

export const nameTaken = () =>
  new ApiError('conflict', { param: 'name', message: 'Another plan has this name.' })
