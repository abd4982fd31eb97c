import type { adminOperations } from '@kinora/contract/admin-operations'

import type { Handler } from '../../http/call.ts'
import type { Database } from '../../platform/postgres.ts'
import { readSettings } from '../../settings/instance-settings-store.ts'
import type { InstanceSettings } from '../../settings/instance-settings.ts'
import { presentSettings } from './present-settings.ts'

export const getSettings =
  ({
    database,
    settings,
  }: {
    database: Database
    settings: InstanceSettings
  }): Handler<typeof adminOperations.getSettings> =>
  async () => ({ body: presentSettings(settings.merged(await readSettings(database))) })
