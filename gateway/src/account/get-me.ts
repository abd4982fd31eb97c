import { ApiError } from '@kinora/contract/errors'
import type { LimitGroup } from '@kinora/contract/operation'
import type { operations } from '@kinora/contract/operations'

import { walletOf } from '../billing/spending/spend.ts'
import type { Handler } from '../http/call.ts'
import type { Database } from '../platform/postgres.ts'
import type { Settings } from '../settings/instance-settings-store.ts'
import { findKeySummary, type KeySummary } from './account-summary-store.ts'

const unixSeconds = (date: Date) => Math.floor(date.getTime() / 1000)
const unixOrNull = (date: Date | null) => (date === null ? null : unixSeconds(date))

const moneyOf = (found: KeySummary, currency: string) => ({
  balance: { available_micros: found.availableMicros, held_micros: found.heldMicros, currency },
  quota:
    found.quotaMicros === null
      ? null
      : { limit_micros: found.quotaMicros, used_micros: found.quotaUsedMicros ?? 0, currency },
  budgets: found.budgets.map(({ period, limitMicros, usedMicros, resetsAt }) => ({
    period,
    limit_micros: limitMicros,
    used_micros: usedMicros,
    currency,
    resets_at: resetsAt,
  })),
  spend_cap:
    found.spendCapMicros === null
      ? null
      : {
          limit_micros: found.spendCapMicros,
          used_micros: found.spentMicros,
          currency,
          resets_at: unixSeconds(found.spentResetsAt),
        },
})

/** Shown only to subscription keys, which spend from it. */
const subscriptionOf = (
  { cycleQuotaMicros, cycleEndsAt, subscriptionEndsAt }: KeySummary,
  currency: string,
) =>
  cycleEndsAt === null || subscriptionEndsAt === null
    ? null
    : {
        cycle_quota_micros: cycleQuotaMicros,
        currency,
        cycle_ends_at: unixSeconds(cycleEndsAt),
        ends_at: unixSeconds(subscriptionEndsAt),
      }

export const getMe =
  ({
    database,
    settings,
  }: {
    database: Database
    settings: () => Pick<Settings, 'limits' | 'concurrencyPerAccount' | 'concurrencyPerKey'>
  }): Handler<typeof operations.getMe> =>
  async ({ caller }) => {
    const found = await findKeySummary(database, caller.keyId, walletOf(caller))
    if (found === undefined) throw new ApiError('invalid_api_key')
    const { limits, concurrencyPerAccount, concurrencyPerKey } = settings()
    const limitOf = (group: LimitGroup) => caller.limits[group] ?? limits[group]
    return {
      body: {
        object: 'me',
        key: {
          id: caller.keyId,
          name: found.keyName,
          hint: found.hint,
          kind: caller.kind,
          models: caller.models ?? null,
          scopes: caller.scopes,
          expires_at: unixOrNull(found.expiresAt),
          dialect: caller.dialect,
        },
        account: { id: caller.accountId, name: found.accountName, payment_state: found.paymentState },
        ...moneyOf(found, caller.currency),
        subscription: caller.kind === 'subscription' ? subscriptionOf(found, caller.currency) : null,
        limits: {
          requests_per_minute: caller.requestsPerMinute ?? null,
          create: limitOf('create'),
          read: limitOf('read'),
          audio: limitOf('audio'),
          chat: limitOf('chat'),
        },
        concurrency: {
          per_account: found.accountConcurrency ?? concurrencyPerAccount,
          per_key: found.keyConcurrency ?? concurrencyPerKey,
          in_flight: found.inFlight,
          waiting: found.waiting,
        },
      },
    }
  }
