/** Starts the roles of the service and runs its one-off commands. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

import { previewArchive, takeArchive, type Archive, type ArchivePreview } from './archive/take-archive.ts'
import { auditMedia, type MediaAudit } from './backup/audit-media.ts'
import { countOpenTasks, readServer, type OpenTaskCounts } from './backup/backup-store.ts'
import { listBackups } from './backup/list-backups.ts'
import { readManifest, settingsWithoutSecret, type Manifest } from './backup/manifest.ts'
import { restoreBackup } from './backup/restore-backup.ts'
import { takeBackup, type Backup } from './backup/take-backup.ts'
import { runFullAudit } from './billing/ledger/audit-ledger.ts'
import { environmentWith, type Config, type Environment } from './config.ts'
import { assertAnyList, copyErasures, repeatErasures } from './erasure/begin-erasure.ts'
import { eraseContent } from './erasure/erase-content.ts'
import { createErasureList } from './erasure/erasure-list.ts'
import { listen } from './http/server/listening-sockets.ts'
import { connectDirectly } from './platform/database/connect-directly.ts'
import { findLoggingFixes } from './platform/database/logging-store.ts'
import { findTimeoutFixes, hearsNotifications } from './platform/database/pooler-store.ts'
import type { EngineCheck } from './platform/engine/anti-entropy.ts'
import type { RunningSteps } from './platform/engine/running-steps.ts'
import { createLog, type Log } from './platform/log.ts'
import { startMetrics } from './platform/metrics/export/start-metrics.ts'
import { assertMigrated, migrate as migrateDatabase, migrationProblem } from './platform/migrate.ts'
import { assertUsable, connectPostgres, type Postgres } from './platform/postgres.ts'
import { connectRedis } from './platform/redis.ts'
import { startTracing } from './platform/tracing/start-tracing.ts'
import type { AccessTest } from './providers/port/access.ts'
import { createProviders } from './providers/registry.ts'
import { previewSweep, type SweepPreview } from './retention/preview-sweep.ts'
import { sweep, type SweepDependencies, type Swept } from './retention/sweep.ts'
import { createFolderStore, createStorage } from './storage/open-storage.ts'
import { wireApi } from './wiring/api.ts'
import { connectProviders } from './wiring/connect.ts'
import { runEngineCheck } from './wiring/engine.ts'
import { offeredModels } from './wiring/offered-models.ts'
import { wireRetention } from './wiring/retention.ts'
import { wireWorker } from './wiring/worker.ts'

export interface Running {
  close: () => Promise<void>
}

const traceRole = async (role: string, config: Config, log: Log): Promise<() => Promise<void>> => {
  const { tracesUrl: url, OTEL_TRACES_SAMPLER_ARG: ratio } = config
  return url === undefined ? async () => undefined : startTracing({ url, role, ratio }, log)
}

/** What is observed while the role closes is sent too. */
const closeAll = async (close: () => Promise<void>, observers: (() => Promise<void>)[]): Promise<void> => {
  try {
    await close()
  } finally {
    await Promise.all(observers.map((stop) => stop()))
  }
}

export const startApi = async (config: Config, log: Log): Promise<Running> => {
  for (const warning of config.warnings) log.warn({ warning }, 'config.warning')
  const metrics = await startMetrics(config, 'api', log)
  const stopTracing = await traceRole('api', config, log)
  const { app, adminApp, close } = await wireApi(config, log)
  const url = await listen(app, { host: config.HOST, port: config.PORT })
  const { ADMIN_HOST: host, ADMIN_PORT: port } = config
  const adminUrl =
    port === undefined || adminApp === undefined ? undefined : await listen(adminApp, { host, port })
  log.info({ url, adminUrl }, 'api.started')
  return { close: () => closeAll(close, [stopTracing, metrics.stop]) }
}

const isLoopback = (host: string) => /^(?:localhost|127\..*|::1|\[::1\])$/.test(host)

export const startWorker = async (
  config: Config,
  log: Log,
): Promise<Running & Pick<RunningSteps, 'recording' | 'untilRecorded'>> => {
  for (const warning of config.warnings) log.warn({ warning }, 'config.warning')
  if (config.engineIdentityKeys.length === 0 && !isLoopback(config.WORKER_HOST)) {
    const fix = 'Create a key pair with `kinora engine-key` and set ENGINE_IDENTITY_KEYS.'
    log.warn({ warning: `Calls to the worker are not authenticated. ${fix}` }, 'config.warning')
  }
  const metrics = await startMetrics(config, 'worker', log)
  const stopTracing = await traceRole('worker', config, log)
  const worker = await wireWorker(config, log)
  log.info({ workerUrl: config.workerUrl }, 'worker.started')
  return { ...worker, close: () => closeAll(worker.close, [stopTracing, metrics.stop]) }
}

/** Applies the missing migrations; returns their names. */
export const migrate = async (
  config: Pick<Config, 'DATABASE_URL' | 'DATABASE_DIRECT_URL' | 'LOG_LEVEL'>,
): Promise<string[]> => {
  const log = createLog({ level: config.LOG_LEVEL }, 'migrate')
  const { url, postgres } = connectDirectly(config, 1, log)
  try {
    await assertUsable(postgres, url)
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
    await assertUsable(postgres, config.DATABASE_URL)
    await assertMigrated(postgres)
    return await runFullAudit(postgres)
  } finally {
    await postgres.close()
  }
}

const withArchiveDatabase = async <Result>(
  config: Pick<Config, 'DATABASE_URL' | 'LOG_LEVEL'>,
  work: (postgres: Postgres) => Promise<Result>,
): Promise<Result> => {
  const postgres = connectPostgres(
    { url: config.DATABASE_URL, connectionsMax: 2 },
    createLog({ level: config.LOG_LEVEL }, 'archive'),
  )
  try {
    await assertUsable(postgres, config.DATABASE_URL)
    await assertMigrated(postgres)
    return await work(postgres)
  } finally {
    await postgres.close()
  }
}

/** Reports what an archive of everything before a year would contain. */
export const previewLedgerArchive = (
  config: Pick<Config, 'DATABASE_URL' | 'LOG_LEVEL'>,
  year: number,
): Promise<ArchivePreview> => withArchiveDatabase(config, (postgres) => previewArchive(postgres, year))

/** Moves the ledger and the usage from before a year to files. */
export const archiveLedger = (
  config: Pick<Config, 'DATABASE_URL' | 'LOG_LEVEL'>,
  order: { year: number; directory: string; version: string },
  progress: Progress,
): Promise<Archive> =>
  withArchiveDatabase(config, (postgres) => takeArchive({ postgres, ...progress }, order))

type BackupConfig = Pick<
  Config,
  | 'DATABASE_URL'
  | 'DATABASE_DIRECT_URL'
  | 'MEDIA_DIRECTORY'
  | 'MEDIA_STORE'
  | 'MEDIA_STORE_ALSO_READ'
  | 'ERASURE_LIST'
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
    environment: Environment
    log: Log
  }) => Promise<Result>,
): Promise<Result> => {
  const log = createLog({ level: config.LOG_LEVEL }, 'backup')
  // Programs of PostgreSQL share a snapshot with this connection.
  const { url: databaseUrl, postgres } = connectDirectly(config, 2, log)
  try {
    await assertUsable(postgres, databaseUrl)
    return await work({
      postgres,
      databaseUrl,
      environment: environmentWith({}),
      log,
    })
  } finally {
    await postgres.close()
  }
}

/** Makes a backup of the database and the media in a new directory below `directory`, and copies the erasure list beside it. */
export const backUp = (
  config: BackupConfig,
  directory: string,
  version: string,
  progress: Progress,
): Promise<Backup> =>
  withBackupDatabase(config, async (dependencies) => {
    const { mediaStore, erasureStore } = await createStorage(config)
    const order = { ...dependencies, ...progress, mediaStore, secrets: config }
    const backup = await takeBackup(order, directory, version)
    await copyErasures(createErasureList(erasureStore), createErasureList(createFolderStore(directory)))
    return backup
  })

export interface Restored {
  manifest: Manifest
  /** The migrations that the backup lacked. */
  migrations: string[]
  openTasks: OpenTaskCounts
  media: MediaAudit
  /** The accounts whose erasure was repeated; undefined if this was not wanted. */
  erased: string[] | undefined
  /** The settings that lack a secret which was in use when the backup was made. */
  settingsWithoutSecret: string[]
}

/** Restores a backup into an empty database, migrates it, repeats the erasures of accounts, and audits the media. */
export const restore = (
  config: BackupConfig,
  { path, repeatsErasures }: { path: string; repeatsErasures: boolean },
  progress: Progress,
): Promise<Restored> =>
  withBackupDatabase(config, async ({ log, ...dependencies }) => {
    const { postgres } = dependencies
    const { mediaStore, erasureStore } = await createStorage(config)
    const { signal, onProgress } = progress
    // The second is the copy that backups make.
    const lists = [erasureStore, createFolderStore(dirname(resolve(path)))].map(createErasureList)
    const beforeWriting = async () => {
      if (repeatsErasures) await assertAnyList(lists)
    }
    const manifest = await restoreBackup({ ...dependencies, ...progress, mediaStore, beforeWriting }, path)
    const migrations = await migrateDatabase(postgres)
    onProgress('Repeating erasures')
    const erased = repeatsErasures ? await repeatErasures(postgres, lists) : undefined
    for (const accountId of erased ?? []) await eraseContent({ postgres, mediaStore, log }, accountId, signal)
    const { files } = manifest.media
    const media = await auditMedia(postgres, mediaStore, {
      signal,
      onProgress: (audit) => onProgress(`Verifying media: ${audit.files} of ${files} files`),
    })
    return {
      manifest,
      migrations,
      openTasks: await countOpenTasks(postgres),
      media,
      erased,
      settingsWithoutSecret: settingsWithoutSecret(manifest, config),
    }
  })

/** Compares the engine with the database and repairs the difference, as workers do every few seconds. */
export const checkEngine = (config: Config): Promise<EngineCheck> =>
  runEngineCheck(config, createLog({ level: config.LOG_LEVEL }, 'engine'))

export interface DatabaseState {
  /** Describes the missing migrations. */
  migrationProblem: string | undefined
  /** The statements that keep rows and values out of the server's log; empty if it has none. */
  loggingFixes: string[]
  serverMajor: number
  /** The time of the server. */
  now: Date
  /** Whether notifications arrive, as they do not through a pooler in transaction mode. */
  hearsNotifications: boolean
  /** The statements that give the role its timeouts, if it lacks them and the connections lead through a pooler. */
  timeoutFixes: string[]
}

/** Throws if the database is unreachable. */
export const inspectDatabase = async (
  config: Pick<Config, 'DATABASE_URL' | 'DATABASE_DIRECT_URL'>,
  connectTimeoutMs: number,
): Promise<DatabaseState> => {
  const { DATABASE_URL: url, DATABASE_DIRECT_URL: directUrl } = config
  const postgres = connectPostgres(
    { url, directUrl, connectionsMax: 1, connectTimeoutMs },
    createLog({ level: 'silent' }, 'doctor'),
  )
  try {
    const { major, now } = await readServer(postgres)
    return {
      migrationProblem: await migrationProblem(postgres),
      loggingFixes: await findLoggingFixes(postgres),
      serverMajor: major,
      now,
      hearsNotifications: await hearsNotifications(postgres),
      timeoutFixes: directUrl === undefined ? [] : await findTimeoutFixes(postgres),
    }
  } finally {
    await postgres.close()
  }
}

export interface ProviderState {
  name: string
  /** The outcome of a call that creates no work; undefined if it was not made. */
  test: AccessTest | undefined
}

export interface OfferState {
  providers: ProviderState[]
  /** How many models customers can use, of how many. */
  offered: number
  models: number
}

/** The providers of the file, without those that operators have set. */
const providersOfFile = (config: Config) => {
  const file = config.readRoutingConfig((path) => readFileSync(path, 'utf8'))
  const liveConfig = { current: () => file, onChange: () => () => undefined, stop: async () => undefined }
  return { liveConfig, providers: createProviders(liveConfig, { ffmpegPath: config.FFMPEG_PATH }) }
}

/** Tests the enabled providers with their keys. Includes those that operators have set, if the database can be used. */
export const inspectProviders = async (
  config: Config,
  { usesDatabase, testsBuiltIn }: { usesDatabase: boolean; testsBuiltIn: boolean },
): Promise<OfferState> => {
  const log = createLog({ level: 'silent' }, 'doctor')
  const postgres = usesDatabase
    ? connectPostgres(
        { url: config.DATABASE_URL, directUrl: config.DATABASE_DIRECT_URL, connectionsMax: 2 },
        log,
      )
    : undefined
  const { liveConfig, providers } =
    postgres === undefined ? providersOfFile(config) : await connectProviders(config, postgres, log)
  try {
    const tested = providers.all().filter(({ acceptsJobs }) => acceptsJobs)
    const { models } = liveConfig.current()
    const offered = config.OFFER_MODELS_WITHOUT_ROUTES
      ? models
      : offeredModels(liveConfig.current(), providers.all())
    return {
      providers: await Promise.all(
        tested.map(async ({ name, testAccess, engines }) => {
          const isBuiltIn = engines !== undefined
          return { name, test: isBuiltIn && !testsBuiltIn ? undefined : await testAccess() }
        }),
      ),
      offered: Object.keys(offered).length,
      models: Object.keys(models).length,
    }
  } finally {
    await liveConfig.stop()
    await postgres?.close()
  }
}

/** When the newest complete backup in a directory was made; undefined if there is none. */
export const findNewestBackup = async (directory: string): Promise<Date | undefined> => {
  const newest = (await listBackups(directory)).find(({ isComplete }) => isComplete)
  const manifest = newest && (await readManifest(newest.path))
  return manifest && new Date(manifest.snapshot_at)
}

/** Throws if Redis is unreachable. */
export const pingRedis = async (url: string, timeoutMs: number): Promise<void> => {
  const redis = connectRedis({ url, timeoutMs: 0 }, createLog({ level: 'silent' }, 'doctor'))
  try {
    await once(redis, 'ready', { signal: AbortSignal.timeout(timeoutMs) })
    await redis.ping()
  } finally {
    redis.disconnect()
  }
}
