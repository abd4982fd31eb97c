import type { LimitGroup } from '@kinora/contract/operation'

import type { Database } from '../platform/postgres.ts'

export interface Settings {
  /** Requests per minute and key, where a key has no number of its own. */
  limits: Record<LimitGroup, number>
  /** Tasks in flight where an account has no number of its own; null for no cap. */
  concurrencyPerAccount: number | null
  concurrencyPerKey: number | null
  /** Tasks of an account that may wait. */
  queueLengthPerAccount: number
  mediaRetentionDays: number
  taskRetentionDays: number
  logRetentionDays: number
}

/** What was changed; the rest stays as the environment says. */
export type SettingsChange = Partial<Omit<Settings, 'limits'>> & { limits?: Partial<Settings['limits']> }

export const readSettings = async (database: Database): Promise<SettingsChange> => {
  const { rows } = await database.query<{ settings: SettingsChange }>(
    'select settings from instance_settings where singleton',
  )
  return rows[0]?.settings ?? {}
}

/** The same, for a change of it: whoever else would change it waits. */
export const lockSettings = async (database: Database): Promise<SettingsChange> => {
  await database.query("insert into instance_settings (settings) values ('{}') on conflict do nothing")
  const { rows } = await database.query<{ settings: SettingsChange }>(
    'select settings from instance_settings where singleton for update',
  )
  return rows[0]?.settings ?? {}
}

export const writeSettings = async (database: Database, settings: SettingsChange): Promise<void> => {
  await database.query('update instance_settings set settings = $1 where singleton', [
    JSON.stringify(settings),
  ])
}
