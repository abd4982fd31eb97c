/** Tells accounts what only time brings: keys that expire, and models that were deprecated. */
import type { ModelConfig } from '../../models/model.ts'
import type { Log } from '../../platform/log.ts'
import type { Database } from '../../platform/postgres.ts'
import { tellDeprecation, tellExpiringKeys } from './notice-store.ts'

export interface NoticeDependencies {
  database: Database
  log: Log
  models: () => ModelConfig[]
}

const expiryDays = 7
const usedWithinDays = 90

export const sendKeyNotices = async ({ database, log }: NoticeDependencies): Promise<void> => {
  const told = await tellExpiringKeys(database, expiryDays)
  if (told > 0) log.info({ keys: told }, 'notices.expiring-keys')
}

export const sendDeprecationNotices = async (
  { database, log, models }: NoticeDependencies,
  stopping: AbortSignal,
): Promise<void> => {
  for (const { id, state, shutdownDate, successor } of models()) {
    if (state !== 'deprecated') continue
    if (stopping.aborted) return
    const data = {
      ...{ id, object: 'model', state },
      ...(shutdownDate !== undefined && { shutdown_date: shutdownDate }),
      ...(successor !== undefined && { successor }),
    }
    const told = await tellDeprecation(database, { id, data, days: usedWithinDays })
    if (told > 0) log.info({ model: id, accounts: told }, 'notices.deprecated-model')
  }
}
