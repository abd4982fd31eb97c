import type { adminOperations } from '@kinora/contract/admin-operations'
import { SettingsChange } from '@kinora/contract/operations/admin/settings'
import type { Static } from 'typebox'

import type { Postgres } from '../../platform/postgres.ts'
import {
  lockSettings,
  writeSettings,
  type SettingsChange as Change,
} from '../../settings/instance-settings-store.ts'
import { mergeChanges, type InstanceSettings } from '../../settings/instance-settings.ts'
import type { AdminHandler } from '../admin-call.ts'
import { presentSettings } from './present-settings.ts'

const changeOf = (given: Static<typeof SettingsChange>): Change => ({
  ...(given.limits !== undefined && { limits: given.limits }),
  ...(given.concurrency_per_account !== undefined && {
    concurrencyPerAccount: given.concurrency_per_account,
  }),
  ...(given.concurrency_per_key !== undefined && { concurrencyPerKey: given.concurrency_per_key }),
  ...(given.queue_length_per_account !== undefined && {
    queueLengthPerAccount: given.queue_length_per_account,
  }),
  ...(given.media_retention_days !== undefined && { mediaRetentionDays: given.media_retention_days }),
  ...(given.task_retention_days !== undefined && { taskRetentionDays: given.task_retention_days }),
  ...(given.log_retention_days !== undefined && { logRetentionDays: given.log_retention_days }),
})

export const updateSettings =
  ({
    postgres,
    settings,
  }: {
    postgres: Postgres
    settings: InstanceSettings
  }): AdminHandler<typeof adminOperations.updateSettings> =>
  async (call) => {
    const change = changeOf(call.read(SettingsChange))
    const body = await postgres.transaction(async (database) => {
      const present = await lockSettings(database)
      const changed = mergeChanges(present, change)
      await writeSettings(database, changed)
      const after = presentSettings(settings.merged(changed))
      const before = presentSettings(settings.merged(present))
      await call.audit(database, { action: 'updateSettings', target: null, before, after })
      return after
    })
    await settings.refresh()
    return { body }
  }
