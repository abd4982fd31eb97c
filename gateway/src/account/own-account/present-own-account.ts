import type { OwnAccount as OwnAccountView } from '@kinora/contract/operations/own-account'

import type { AccountBudget, OwnAccount } from '../../billing/budgets/account-budget-store.ts'

export const presentBudget = (budget: AccountBudget, currency: string) => ({
  spend_cap_micros: budget.spendCapMicros,
  balance_alert_micros: budget.balanceAlertMicros,
  spend_alerts: budget.spendAlertsMicros,
  currency,
})

export const presentOwnAccount = (id: string, account: OwnAccount, currency: string): OwnAccountView => ({
  id,
  object: 'account',
  name: account.name,
  balance: { available_micros: account.availableMicros, held_micros: account.heldMicros, currency },
  spent_micros: account.spentMicros,
  spent_resets_at: Math.floor(account.spentResetsAt.getTime() / 1000),
  operator_spend_cap_micros: account.operatorSpendCapMicros,
  ...presentBudget(account, currency),
})
