import type { Account } from '@kinora/contract/operations/admin/accounts'

import { secondsOf } from '../unix-time.ts'
import type { AccountRecord } from './account-store.ts'

const subscriptionOf = (account: AccountRecord, currency: string): Account['subscription'] => {
  const { cycleStartedAt, cycleEndsAt, endsAt } = account
  if (cycleStartedAt === null || cycleEndsAt === null || endsAt === null) return null
  return {
    plan_id: account.planId,
    cycle_quota_micros: account.cycleQuotaMicros,
    currency,
    cycle_started_at: secondsOf(cycleStartedAt),
    cycle_ends_at: secondsOf(cycleEndsAt),
    ends_at: secondsOf(endsAt),
  }
}

export const presentAccount = (account: AccountRecord, currency: string): Account => ({
  id: account.id,
  object: 'account',
  name: account.name,
  status: account.status,
  payment_state: account.paymentState,
  spend_cap_micros: account.spendCapMicros,
  concurrency: account.concurrency,
  media_retention_days: account.mediaRetentionDays,
  task_retention_days: account.taskRetentionDays,
  currency,
  balances: account.balances.map((balance) => ({ ...balance, currency })),
  subscription: subscriptionOf(account, currency),
  created_at: secondsOf(account.createdAt),
  erased_at: account.erasedAt === null ? null : secondsOf(account.erasedAt),
})
