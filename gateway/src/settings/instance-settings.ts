/**
 * What an operator may change while the service runs: the environment gives it, and the record overrides it. Every
 * process keeps it in memory, hears at once of a change, and looks anyway now and then.
 */
import type { Log } from '../platform/log.ts'
import type { Postgres } from '../platform/postgres.ts'
import { readSettings, type Settings, type SettingsChange } from './instance-settings-store.ts'

export interface InstanceSettings {
  current: () => Settings
  /** What a change of it comes to. */
  merged: (change: SettingsChange) => Settings
  /** Reads the record now, for who has just changed it. */
  refresh: () => Promise<void>
  stop: () => Promise<void>
}

const refreshEveryMs = 30_000

/** A change over what was there before it. */
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
  // First the ear, then the look: a change in between is heard.
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
