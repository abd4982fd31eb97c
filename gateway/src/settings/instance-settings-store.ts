import type { Database } from '../platform/postgres.ts'
import type { SettingsChange } from './instance-settings.ts'

export const readSettings = async (database: Database): Promise<SettingsChange> => {
  const { rows } = await database.query<{ settings: SettingsChange }>(
    'select settings from instance_settings where only_one',
  )
  return rows[0]?.settings ?? {}
}

/** The same, for a change of it: whoever else would change it waits. */
export const lockSettings = async (database: Database): Promise<SettingsChange> => {
  await database.query("insert into instance_settings (settings) values ('{}') on conflict do nothing")
  const { rows } = await database.query<{ settings: SettingsChange }>(
    'select settings from instance_settings where only_one for update',
  )
  return rows[0]?.settings ?? {}
}

export const writeSettings = async (database: Database, settings: SettingsChange): Promise<void> => {
  await database.query('update instance_settings set settings = $1 where only_one', [
    JSON.stringify(settings),
  ])
}
