import type { Config } from '../config.ts'
import { withLongStatements } from '../platform/database/long-statements.ts'
import type { Log } from '../platform/log.ts'
import { openStorage } from '../storage/open-storage.ts'
import { connectMigrated, connectProviders, loadInstanceSettings, retentionDaysOf } from './connect.ts'

/** The dependencies of a retention sweep that runs outside a worker. */
export const wireRetention = async (config: Config, log: Log) => {
  const postgres = await connectMigrated(config, log, { connectionsMax: 2 })
  const settings = await loadInstanceSettings(config, postgres, log)
  const { liveConfig, providers } = await connectProviders(config, postgres, log)
  return {
    postgres: withLongStatements(postgres),
    providers,
    ...(await openStorage(config)),
    days: retentionDaysOf(settings),
    log,
    close: async () => {
      await settings.stop()
      await liveConfig.stop()
      await postgres.close()
    },
  }
}
