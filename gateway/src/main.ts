/** The roles of the service: each takes its configuration, starts, and ends with grace. */
import { once } from 'node:events'

import { auditWhole } from './billing/ledger/audit-ledger.ts'
import type { Config } from './config.ts'
import { createLog, type Log } from './platform/log.ts'
import { assertMigrated, migrate as migrateDatabase, migrationProblem } from './platform/migrate.ts'
import { connectPostgres } from './platform/postgres.ts'
import { connectRedis } from './platform/redis.ts'
import { previewSweep, type SweepPreview } from './retention/preview-sweep.ts'
import { sweep, type ClearDependencies, type Cleared } from './retention/sweep.ts'
import { wireApi } from './wiring/api.ts'
import { wireRetention } from './wiring/retention.ts'
import { wireWorker } from './wiring/worker.ts'

export interface Running {
  close: () => Promise<void>
}

export const startApi = async (config: Config, log: Log): Promise<Running> => {
  for (const warning of config.warnings) log.warn({ warning }, 'config.warning')
  const { app, close } = await wireApi(config, log)
  const url = await app.listen({ host: config.HOST, port: config.PORT })
  log.info({ url }, 'api.started')
  return { close }
}

export const startWorker = async (config: Config, log: Log): Promise<Running> => {
  for (const warning of config.warnings) log.warn({ warning }, 'config.warning')
  const { close } = await wireWorker(config, log)
  log.info({ workerUrl: config.workerUrl }, 'worker.started')
  return { close }
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

const withRetention = async <Result>(
  config: Config,
  work: (dependencies: ClearDependencies, signal: AbortSignal) => Promise<Result>,
): Promise<Result> => {
  const { close, ...dependencies } = await wireRetention(
    config,
    createLog({ level: config.LOG_LEVEL }, 'retention'),
  )
  try {
    return await work(dependencies, new AbortController().signal)
  } finally {
    await close()
  }
}

/** Clears away everything past its time, as workers do by themselves. */
export const clearNow = (config: Config): Promise<Cleared> => withRetention(config, sweep)

/** What that would be. */
export const previewRetention = (config: Config): Promise<SweepPreview> => withRetention(config, previewSweep)

/** Audits the whole ledger, and keeps the result as a worker would. */
export const auditBooks = async (
  config: Pick<Config, 'DATABASE_URL' | 'LOG_LEVEL'>,
): ReturnType<typeof auditWhole> => {
  const postgres = connectPostgres(
    { url: config.DATABASE_URL, connectionsMax: 1 },
    createLog({ level: config.LOG_LEVEL }, 'audit'),
  )
  try {
    await assertMigrated(postgres)
    return await auditWhole(postgres)
  } finally {
    await postgres.close()
  }
}

/** Which migrations the database lacks, in words; thrown where it cannot be asked. */
export const findMigrationProblem = async (
  config: Pick<Config, 'DATABASE_URL'>,
): Promise<string | undefined> => {
  const postgres = connectPostgres(
    { url: config.DATABASE_URL, connectionsMax: 1 },
    createLog({ level: 'silent' }, 'doctor'),
  )
  try {
    return await migrationProblem(postgres)
  } finally {
    await postgres.close()
  }
}

/** Whether Redis answers; thrown where it does not. */
export const pingRedis = async (url: string): Promise<void> => {
  const redis = connectRedis(url, createLog({ level: 'silent' }, 'doctor'))
  try {
    await once(redis, 'ready', { signal: AbortSignal.timeout(3_000) })
    await redis.ping()
  } finally {
    redis.disconnect()
  }
}
