/** Starts the roles of the service and runs its one-off commands. */
import { once } from 'node:events'

import { auditMedia, type MediaAudit } from './backup/audit-media.ts'
import { countOpenTasks, type OpenTaskCounts } from './backup/backup-store.ts'
import { settingsWithoutSecret, type Manifest } from './backup/manifest.ts'
import { restoreBackup } from './backup/restore-backup.ts'
import { takeBackup, type Backup } from './backup/take-backup.ts'
import { runFullAudit } from './billing/ledger/audit-ledger.ts'
import { environmentWith, type Config, type Environment } from './config.ts'
import type { EngineCheck } from './platform/engine/anti-entropy.ts'
import { createLog, type Log } from './platform/log.ts'
import { assertMigrated, migrate as migrateDatabase, migrationProblem } from './platform/migrate.ts'
import { connectPostgres, type Postgres } from './platform/postgres.ts'
import { connectRedis } from './platform/redis.ts'
import { previewSweep, type SweepPreview } from './retention/preview-sweep.ts'
import { sweep, type SweepDependencies, type Swept } from './retention/sweep.ts'
import { wireApi } from './wiring/api.ts'
import { runEngineCheck } from './wiring/engine.ts'
import { wireRetention } from './wiring/retention.ts'
import { wireWorker } from './wiring/worker.ts'

export interface Running {
  close: () => Promise<void>
}

export const startApi = async (config: Config, log: Log): Promise<Running> => {
  for (const warning of config.warnings) log.warn({ warning }, 'config.warning')
  const { app, adminApp, close } = await wireApi(config, log)
  const url = await app.listen({ host: config.HOST, port: config.PORT })
  const { ADMIN_HOST: host, ADMIN_PORT: port } = config
  const adminUrl = port === undefined ? undefined : await adminApp?.listen({ host, port })
  log.info({ url, adminUrl }, 'api.started')
  return { close }
}

const isLoopback = (host: string) => /^(?:localhost|127\..*|::1|\[::1\])$/.test(host)

export const startWorker = async (config: Config, log: Log): Promise<Running> => {
  for (const warning of config.warnings) log.warn({ warning }, 'config.warning')
  if (config.engineIdentityKeys.length === 0 && !isLoopback(config.WORKER_HOST)) {
    const fix = 'Create a key pair with `kinora engine-key` and set ENGINE_IDENTITY_KEYS.'
    log.warn({ warning: `Calls to the worker are not authenticated. ${fix}` }, 'config.warning')
  }
  const { close } = await wireWorker(config, log)
  log.info({ workerUrl: config.workerUrl }, 'worker.started')
  return { close }
}

/** Applies the missing migrations; returns their names. */
export const migrate = async (config: Pick<Config, 'DATABASE_URL' | 'LOG_LEVEL'>): Promise<string[]> => {
  const log = createLog({ level: config.LOG_LEVEL }, 'migrate')
  const postgres = connectPostgres({ url: config.DATABASE_URL, connectionsMax: 1 }, log)
  try {
    return await migrateDatabase(postgres, {
      onLocked: (migration) => log.warn({ migration }, 'migrate.waits-for-lock'),
    })
  } finally {
    await postgres.close()
  }
}

const withRetention = async <Result>(
  config: Config,
  work: (dependencies: SweepDependencies, signal: AbortSignal) => Promise<Result>,
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

/** Deletes everything that has expired, as workers do periodically. */
export const runRetention = (config: Config): Promise<Swept> => withRetention(config, sweep)

/** Reports what `clearNow` would delete. */
export const previewRetention = (config: Config): Promise<SweepPreview> => withRetention(config, previewSweep)

/** Audits the whole ledger and stores the result, as a worker does. */
export const auditLedger = async (
  config: Pick<Config, 'DATABASE_URL' | 'LOG_LEVEL'>,
): ReturnType<typeof runFullAudit> => {
  const postgres = connectPostgres(
    { url: config.DATABASE_URL, connectionsMax: 1 },
    createLog({ level: config.LOG_LEVEL }, 'audit'),
  )
  try {
    await assertMigrated(postgres)
    return await runFullAudit(postgres)
  } finally {
    await postgres.close()
  }
}

type BackupConfig = Pick<
  Config,
  | 'DATABASE_URL'
  | 'MEDIA_DIRECTORY'
  | 'KEY_HASH_SECRETS'
  | 'LINK_SECRETS'
  | 'CREDENTIAL_SECRETS'
  | 'AUDIT_SECRETS'
  | 'LOG_LEVEL'
>

interface Progress {
  signal: AbortSignal
  onProgress: (text: string) => void
}

const withBackupDatabase = async <Result>(
  config: BackupConfig,
  work: (dependencies: {
    postgres: Postgres
    databaseUrl: string
    mediaDirectory: string
    environment: Environment
  }) => Promise<Result>,
): Promise<Result> => {
  const postgres = connectPostgres(
    { url: config.DATABASE_URL, connectionsMax: 2 },
    createLog({ level: config.LOG_LEVEL }, 'backup'),
  )
  try {
    return await work({
      postgres,
      databaseUrl: config.DATABASE_URL,
      mediaDirectory: config.MEDIA_DIRECTORY,
      environment: environmentWith({}),
    })
  } finally {
    await postgres.close()
  }
}

/** Makes a backup of the database and the media in a new directory below `directory`. */
export const backUp = (
  config: BackupConfig,
  directory: string,
  version: string,
  progress: Progress,
): Promise<Backup> =>
  withBackupDatabase(config, (dependencies) =>
    takeBackup({ ...dependencies, ...progress, secrets: config }, directory, version),
  )

export interface Restored {
  manifest: Manifest
  /** The migrations that the backup lacked. */
  migrations: string[]
  openTasks: OpenTaskCounts
  media: MediaAudit
  /** The settings that lack a secret which was in use when the backup was made. */
  settingsWithoutSecret: string[]
}

/** Restores a backup into an empty database, migrates it, and audits the media. */
export const restore = (config: BackupConfig, path: string, progress: Progress): Promise<Restored> =>
  withBackupDatabase(config, async (dependencies) => {
    const { postgres, mediaDirectory } = dependencies
    const { signal, onProgress } = progress
    const manifest = await restoreBackup({ ...dependencies, ...progress }, path)
    const migrations = await migrateDatabase(postgres)
    const { files } = manifest.media
    const media = await auditMedia(postgres, mediaDirectory, {
      signal,
      onProgress: (audit) => onProgress(`Verifying media: ${audit.files} of ${files} files`),
    })
    return {
      manifest,
      migrations,
      openTasks: await countOpenTasks(postgres),
      media,
      settingsWithoutSecret: settingsWithoutSecret(manifest, config),
    }
  })

/** Compares the engine with the database and repairs the difference, as workers do every few seconds. */
export const checkEngine = (config: Config): Promise<EngineCheck> =>
  runEngineCheck(config, createLog({ level: config.LOG_LEVEL }, 'engine'))

/** Describes the missing migrations; throws if the database is unreachable. */
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

/** Throws if Redis is unreachable. */
export const pingRedis = async (url: string): Promise<void> => {
  const redis = connectRedis({ url, timeoutMs: 0 }, createLog({ level: 'silent' }, 'doctor'))
  try {
    await once(redis, 'ready', { signal: AbortSignal.timeout(3_000) })
    await redis.ping()
  } finally {
    redis.disconnect()
  }
}
