import type { AccountChange } from '@kinora/contract/operations/admin/accounts'
import type { Static } from 'typebox'

import type { AccountSettings } from './account-store.ts'

/** Merges the body into the current values. Null clears a value; an absent one is unchanged. */
const kept = <Value>(given: Value | undefined, present: Value): Value =>
  given === undefined ? present : given

export const readAccountChange = (
  present: AccountSettings,
  given: Static<typeof AccountChange>,
): AccountSettings => ({
  name: kept(given.name, present.name),
  status: kept(given.status as AccountSettings['status'] | undefined, present.status),
  paymentState: kept(
    given.payment_state as AccountSettings['paymentState'] | undefined,
    present.paymentState,
  ),
  spendCapMicros: kept(given.spend_cap_micros, present.spendCapMicros),
  concurrency: kept(given.concurrency, present.concurrency),
  mediaRetentionDays: kept(given.media_retention_days, present.mediaRetentionDays),
  taskRetentionDays: kept(given.task_retention_days, present.taskRetentionDays),
})
