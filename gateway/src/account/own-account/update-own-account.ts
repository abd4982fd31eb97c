import { ApiError } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'
import { OwnAccountBody } from '@kinora/contract/operations/own-account'

import { readAmounts } from '../../admin/read-amounts.ts'
import {
  findOwnAccount,
  setAccountBudget,
  type AccountBudget,
  type OwnAccount,
} from '../../billing/budgets/account-budget-store.ts'
import { formatAmount } from '../../billing/money/money.ts'
import type { Call } from '../../http/call.ts'
import type { Database, Postgres } from '../../platform/postgres.ts'
import { lockCallingKey } from '../keys/manage-keys.ts'
import type { SelfServiceHandler } from '../self-service-call.ts'
import { presentBudget, presentOwnAccount } from './present-own-account.ts'

const findCallers = async (database: Database, { accountId }: Call['caller']): Promise<OwnAccount> => {
  const account = await findOwnAccount(database, accountId)
  if (account === undefined) throw new ApiError('invalid_api_key')
  return account
}

const assertWithin = (given: number | null, operators: number | null, currency: string): void => {
  if (given === null || operators === null || given <= operators) return
  throw new ApiError('invalid_parameter', {
    param: 'spend_cap_micros',
    message: `'spend_cap_micros' must be at most ${operators}, the operator's cap of ${formatAmount(operators, currency)} per month (got ${given}).`,
  })
}

export const updateOwnAccount =
  ({ postgres }: { postgres: Postgres }): SelfServiceHandler<typeof operations.updateOwnAccount> =>
  async (call) => {
    const { caller } = call
    const { accountId, currency } = caller
    const given = readAmounts(call, OwnAccountBody, currency)
    return postgres.transaction(async (database) => {
      await lockCallingKey(database, caller)
      const present = await findCallers(database, caller)
      if (given.spend_cap_micros !== undefined)
        assertWithin(given.spend_cap_micros, present.operatorSpendCapMicros, currency)
      const { spend_cap_micros = present.spendCapMicros, balance_alert_micros = present.balanceAlertMicros } =
        given
      const budget: AccountBudget = {
        spendCapMicros: spend_cap_micros,
        balanceAlertMicros: balance_alert_micros,
        spendAlertsMicros: [...new Set(given.spend_alerts ?? present.spendAlertsMicros)].toSorted(
          (one, other) => one - other,
        ),
      }
      await setAccountBudget(database, accountId, budget)
      await call.audit(database, {
        action: 'updateOwnAccount',
        target: accountId,
        before: presentBudget(present, currency),
        after: presentBudget(budget, currency),
      })
      return { body: presentOwnAccount(accountId, await findCallers(database, caller), currency) }
    })
  }
