import type { InstanceSettings } from '@kinora/contract/operations/admin/settings'

import type { Settings } from '../../settings/instance-settings-store.ts'

export const presentSettings = (settings: Settings): InstanceSettings => ({
  object: 'settings',
  limits: settings.limits,
  concurrency_per_account: settings.concurrencyPerAccount,
  concurrency_per_key: settings.concurrencyPerKey,
  queue_length_per_account: settings.queueLengthPerAccount,
  media_retention_days: settings.mediaRetentionDays,
  task_retention_days: settings.taskRetentionDays,
  log_retention_days: settings.logRetentionDays,
})
