/** Tells accounts that their balance is low, or that their spending has reached an amount. */
import { recordAccountEvent } from '../../events/account-event-store.ts'
import type { Database } from '../../platform/postgres.ts'
import { recordCrossings } from './account-budget-store.ts'

/** Records the events of alerts that were crossed, in the transaction that moved the money of these accounts. */
export const recordAlerts = async (database: Database, accountIds: string[]): Promise<void> => {
  for (const crossing of await recordCrossings(database, accountIds)) {
    const { accountId, currency, balanceMicros, balanceAlertMicros, month, spentMicros } = crossing
    const about = { accountId, objectId: accountId }
    const account = { id: accountId, object: 'account' }
    if (balanceAlertMicros !== null) {
      await recordAccountEvent(database, {
        ...about,
        type: 'balance.low',
        data: {
          ...account,
          balance_micros: balanceMicros,
          balance_alert_micros: balanceAlertMicros,
          currency,
        },
      })
    }
    for (const reachedMicros of crossing.reachedMicros) {
      await recordAccountEvent(database, {
        ...about,
        type: 'spend.threshold',
        data: { ...account, month, spent_micros: spentMicros, spend_alert_micros: reachedMicros, currency },
      })
    }
  }
}
