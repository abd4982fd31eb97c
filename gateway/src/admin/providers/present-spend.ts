import type { Provider } from '@kinora/contract/operations/admin/providers'

import type { Spend } from '../../provider-budgets/spend-store.ts'
import type { ProviderConfig } from '../../provider-config/config.ts'
import { secondsOf } from '../unix-time.ts'

/** What a provider with a budget has cost today. */
export const presentSpend = (
  { budget }: Pick<ProviderConfig, 'budget'>,
  spend: Spend | undefined,
  modelsWithoutCosts: string[],
  currency: string,
): Provider['spend'] => {
  if (budget === undefined || spend === undefined) return null
  const { day, spentMicros, committedMicros, resetsAt } = spend
  const total = spentMicros + committedMicros
  const isSpent = total >= budget.micros
  return {
    day,
    spent_micros: spentMicros,
    committed_micros: committedMicros,
    state: isSpent ? 'spent' : total >= budget.alertMicros ? 'alert' : 'within',
    is_stopped: isSpent && budget.stops,
    resets_at: secondsOf(resetsAt),
    models_without_costs: modelsWithoutCosts,
    currency,
  }
}
