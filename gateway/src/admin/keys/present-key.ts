import type { Key } from '@kinora/contract/operations/admin/keys'

import { secondsOf, secondsOrNull } from '../unix-time.ts'
import type { KeyRecord } from './key-record-store.ts'

export const presentKey = (key: KeyRecord, currency: string): Key => ({
  id: key.id,
  object: 'key',
  account_id: key.accountId,
  account_name: key.accountName,
  kind: key.kind,
  role: key.role,
  hint: key.hint,
  scopes: key.kind === 'admin' ? null : key.scopes,
  name: key.name,
  models: key.models,
  addresses: key.addresses,
  expires_at: secondsOrNull(key.expiresAt),
  disabled: key.isDisabled,
  quota_micros: key.quotaMicros,
  budgets: key.budgets.map(({ period, limitMicros }) => ({ period, limit_micros: limitMicros, currency })),
  currency,
  requests_per_minute: key.requestsPerMinute,
  limits: key.limits,
  concurrency: key.concurrency,
  dialect: key.dialect,
  used_micros: key.usedMicros,
  budget_usage: key.budgetUsage.map(({ period, usedMicros, resetsAt }) => ({
    ...{ period, used_micros: usedMicros, currency, resets_at: resetsAt },
  })),
  previous_secret_expires_at: secondsOrNull(key.previousExpiresAt),
  last_used_at: secondsOrNull(key.lastUsedAt),
  created_at: secondsOf(key.createdAt),
})
