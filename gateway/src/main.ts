/** The roles of the service: each takes its configuration, starts, and ends with grace. */
import type { Config } from './config.ts'
import { createLog, type Log } from './platform/log.ts'
import { migrate as migrateDatabase } from './platform/migrate.ts'
import { connectPostgres } from './platform/postgres.ts'
import { wireApi, wireWorker } from './wiring.ts'

export interface Running {
  log: Log
  close: () => Promise<void>
}

export const startApi = async (config: Config): Promise<Running & { url: string }> => {
  const log = createLog({ level: config.LOG_LEVEL }, 'api')
  const { app, close } = await wireApi(config, log)
  const url = await app.listen({ host: config.HOST, port: config.PORT })
  log.info({ url }, 'api.started')
  return { log, url, close }
}

export const startWorker = async (config: Config): Promise<Running> => {
  const log = createLog({ level: config.LOG_LEVEL }, 'worker')
  const { close } = await wireWorker(config, log)
  log.info({ workerUrl: config.workerUrl }, 'worker.started')
  return { log, close }
}

/** Brings the database up to date and answers what was new. */
export const migrate = async (config: Pick<Config, 'DATABASE_URL' | 'LOG_LEVEL'>): Promise<string[]> => {
  const postgres = connectPostgres(
    { url: config.DATABASE_URL, connectionsMax: 1 },
    createLog({ level: config.LOG_LEVEL }, 'migrate'),
  )
  try {
    return await migrateDatabase(postgres)
  } finally {
    await postgres.close()
  }
}
