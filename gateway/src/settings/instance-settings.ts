/**
 * Settings that operators can change at run time. The environment gives the defaults, the database the overrides. Every
 * process caches them, refreshes on a database notification, and polls as a fallback.
 */
import type { Log } from '../platform/log.ts'
import type { Postgres } from '../platform/postgres.ts'
import { readSettings, type Settings, type SettingsChange } from './instance-settings-store.ts'

export interface InstanceSettings {
  current: () => Settings
  /** The settings that the given overrides result in. */
  merged: (change: SettingsChange) => Settings
  /** Reads the overrides from the database again. */
  refresh: () => Promise<void>
  stop: () => Promise<void>
}

const refreshEveryMs = 30_000

export const mergeChanges = (earlier: SettingsChange, later: SettingsChange): SettingsChange => ({
  ...earlier,
  ...later,
  limits: { ...earlier.limits, ...later.limits },
})

export const createInstanceSettings = async (
  postgres: Postgres,
  defaults: Settings,
  log: Log,
): Promise<InstanceSettings> => {
  const merged = (change: SettingsChange): Settings => ({
    ...defaults,
    ...change,
    limits: { ...defaults.limits, ...change.limits },
  })
  let settings = defaults
  const refresh = async () => {
    settings = merged(await readSettings(postgres))
  }
  const refreshSoon = () => {
    refresh().catch((error: unknown) => log.warn({ err: error }, 'settings.not-read'))
  }
  // Listens before the first read, so that a change in between is not missed.
  const listening = await postgres.listen('instance_changes', refreshSoon)
  await refresh()
  const timer = setInterval(refreshSoon, refreshEveryMs)
  timer.unref()
  return {
    current: () => settings,
    merged,
    refresh,
    stop: async () => {
      clearInterval(timer)
      await listening.stop()
    },
  }
}
