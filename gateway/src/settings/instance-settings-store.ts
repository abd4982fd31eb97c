import type { LimitGroup } from '@kinora/contract/operation'

import type { Database } from '../platform/postgres.ts'

export interface Settings {
  /** Requests per minute for keys without their own limit. */
  limits: Record<LimitGroup, number>
  /** Tasks in flight for accounts without their own limit; null for no limit. */
  concurrencyPerAccount: number | null
  concurrencyPerKey: number | null
  /** Queued tasks per account. */
  queueLengthPerAccount: number
  mediaRetentionDays: number
  taskRetentionDays: number
  logRetentionDays: number
}

/** Overrides; all other settings come from the environment. */
export type SettingsChange = Partial<Omit<Settings, 'limits'>> & { limits?: Partial<Settings['limits']> }

export const readSettings = async (database: Database): Promise<SettingsChange> => {
  const { rows } = await database.query<{ settings: SettingsChange }>(
    'select settings from instance_settings where singleton',
  )
  return rows[0]?.settings ?? {}
}

/** Reads the settings and locks them until the transaction ends. */
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
