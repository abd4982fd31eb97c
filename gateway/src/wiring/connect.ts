/** The connections and shared parts that the API and the worker are built on. */
import { ConfigError, type Config } from '../config.ts'
import { renewGeneration } from '../event-feed/renew-generation.ts'
import { createCatalog } from '../models/catalog.ts'
import { batch, fulfilled } from '../platform/batch.ts'
import {
  connectionNameOf,
  findRolesThatDiffer,
  type RunningRole,
} from '../platform/database/running-role-store.ts'
import { connectEngine } from '../platform/engine/restate.ts'
import type { Log } from '../platform/log.ts'
import { assertMigrated } from '../platform/migrate.ts'
import { assertUsable, connectPostgres, type Postgres } from '../platform/postgres.ts'
import { postgresPubsub, redisPubsub } from '../platform/pubsub.ts'
import { connectRedis } from '../platform/redis.ts'
import { createLiveConfig } from '../provider-config/live-config.ts'
import { allowLinkLocal } from '../providers/kit/http/link-local.ts'
import { createEnhancerChat, createProviders } from '../providers/registry.ts'
import { mediaDaysOf } from '../retention/account-term-store.ts'
import type { InstanceDays } from '../retention/retention-days.ts'
import { createRouter } from '../routing/router.ts'
import { recordCurrency } from '../settings/currency-store.ts'
import { createInstanceSettings, type InstanceSettings } from '../settings/instance-settings.ts'
import { createMediaPrograms, reportSandbox } from '../storage/media-programs.ts'
import { openStorage } from '../storage/open-storage.ts'
import { dispatchRecordings } from '../transcription-tasks/lifecycle/dispatch-recordings.ts'
import { pollJobsName } from '../videos/polling/poll-jobs.ts'
import { chatEnhancer } from '../videos/prompts/chat-enhancer.ts'
import { ruleEnhancer } from '../videos/prompts/rule-enhancer.ts'
import { dispatchVideosName } from '../videos/queue/dispatch-videos.ts'
import { queueDefaults, type QueueLimits } from '../videos/queue/queue-limits.ts'
import { shardKey, shardOf } from '../videos/shard.ts'
import { limitLabelsTo } from './metrics.ts'

export const dayMs = 86_400_000

/** Loads the settings; the configuration supplies the values that no operator has changed. */
export const loadInstanceSettings = (
  config: Config,
  postgres: Postgres,
  log: Log,
): Promise<InstanceSettings> =>
  createInstanceSettings(
    postgres,
    {
      limits: {
        create: config.LIMIT_CREATES_PER_MINUTE,
        read: config.LIMIT_READS_PER_MINUTE,
        audio: config.LIMIT_AUDIO_PER_MINUTE,
        chat: config.LIMIT_CHAT_PER_MINUTE,
      },
      concurrencyPerAccount: queueDefaults.concurrencyPerAccount,
      concurrencyPerKey: queueDefaults.concurrencyPerKey,
      queueLengthPerAccount: queueDefaults.lengthPerAccount,
      mediaRetentionDays: config.MEDIA_RETENTION_DAYS,
      taskRetentionDays: config.TASK_RETENTION_DAYS,
      logRetentionDays: config.LOG_RETENTION_DAYS,
    },
    log,
  )

export const retentionDaysOf =
  (settings: InstanceSettings): InstanceDays =>
  () => {
    const { mediaRetentionDays, taskRetentionDays, logRetentionDays } = settings.current()
    return { media: mediaRetentionDays, task: taskRetentionDays, log: logRetentionDays }
  }

/** The retention of an account's results. */
export const retentionMsOf = (
  postgres: Postgres,
  days: InstanceDays,
): ((accountId: string) => Promise<number>) =>
  batch(
    async (accountIds: string[]) =>
      (await mediaDaysOf(postgres, accountIds, days())).map((each) => fulfilled(each * dayMs)),
    { name: 'retention', inFlightMax: 2, sizeMax: 100 },
  )

export const queueLimitsOf = (settings: InstanceSettings) => (): QueueLimits => {
  const { concurrencyPerAccount, concurrencyPerKey, queueLengthPerAccount } = settings.current()
  return { concurrencyPerAccount, concurrencyPerKey, lengthPerAccount: queueLengthPerAccount }
}

/** How long a task may be expected to wait in its queue. */
export const queueWaitMsMax = (config: Config): number =>
  config.ADMISSION_CONTROL && config.OVERLOAD_QUEUE_PERCENT > 0
    ? config.TASK_DEADLINE_SECONDS * 10 * config.OVERLOAD_QUEUE_PERCENT
    : Infinity

/** Without the same Redis, an API learns of the changes of a task only by polling. */
const reportMixedRedis = async (postgres: Postgres, running: RunningRole, log: Log): Promise<void> => {
  const differing = await findRolesThatDiffer(postgres, running)
  if (differing.length === 0) return
  const set = running.usesRedis ? 'set' : 'not set'
  const other = running.usesRedis ? 'not set' : 'set'
  const warning = `REDIS_URL is ${set} for this ${running.role}, but ${other} for a running ${differing.join(' and a running ')}: they do not notify each other, so clients see the progress of tasks seconds later. Set REDIS_URL to the same Redis for every api and worker, or for none.`
  log.warn({ warning }, 'config.warning')
}

/** Checks the migrations before anything else reads the database, so that a missing table is not reported as an SQL error. */
export const connectMigrated = async (
  config: Config,
  log: Log,
  { connectionsMax, role }: { connectionsMax: number; role?: RunningRole['role'] },
): Promise<Postgres> => {
  const running = role === undefined ? undefined : { role, usesRedis: config.REDIS_URL !== undefined }
  const postgres = connectPostgres(
    {
      url: config.DATABASE_URL,
      directUrl: config.DATABASE_DIRECT_URL,
      connectionsMax,
      ...(running !== undefined && { connectionName: connectionNameOf(running) }),
      connectTimeoutMs: config.DATABASE_CONNECT_TIMEOUT_MS,
      lockTimeoutMs: config.DATABASE_LOCK_TIMEOUT_MS,
      statementTimeoutMs: config.DATABASE_STATEMENT_TIMEOUT_MS,
    },
    log,
  )
  try {
    await assertUsable(postgres, config.DATABASE_URL)
    await assertMigrated(postgres)
    if (role !== undefined) await renewGeneration(postgres, log)
    const problem = await recordCurrency(postgres, config.CURRENCY, { mayChange: role === 'api' })
    if (problem !== undefined) throw new ConfigError(problem)
    if (running !== undefined) await reportMixedRedis(postgres, running, log)
    return postgres
  } catch (error) {
    await postgres.close()
    throw error
  }
}

export const connectProviders = async (config: Config, postgres: Postgres, log: Log) => {
  allowLinkLocal(config.PROVIDERS_ALLOW_LINK_LOCAL)
  const liveConfig = await createLiveConfig({
    postgres,
    readRoutingConfig: config.readRoutingConfig,
    credentialSecrets: config.CREDENTIAL_SECRETS,
    protocols: config.protocols,
    log,
  })
  return { liveConfig, providers: createProviders(liveConfig, { ffmpegPath: config.FFMPEG_PATH }) }
}

export const connect = async (config: Config, log: Log, role: RunningRole['role']) => {
  const postgres = await connectMigrated(config, log, { connectionsMax: config.DATABASE_CONNECTIONS, role })
  const redis =
    config.REDIS_URL === undefined
      ? undefined
      : connectRedis({ url: config.REDIS_URL, timeoutMs: config.REDIS_TIMEOUT_MS }, log)
  const enhancerChat = createEnhancerChat(config)
  const { liveConfig, providers } = await connectProviders(config, postgres, log)
  limitLabelsTo({ liveConfig, providers })
  const engine = connectEngine(
    { ingressUrls: config.RESTATE_INGRESS_URL, adminUrls: config.RESTATE_ADMIN_URL },
    log,
  )
  const programs = createMediaPrograms(config, log)
  reportSandbox(programs)
  return {
    postgres,
    redis,
    pubsub: redis === undefined ? postgresPubsub(postgres, log) : redisPubsub(redis, log),
    engine,
    /** Wakes the loops of the worker. */
    wake: {
      dispatcher: (provider: string) => engine.wake(dispatchVideosName, provider),
      /**
       * For a job that is not due before the shortest interval is over, it wakes the loop then: all jobs that follow until
       * then are due later, so they need no wake-up of their own.
       */
      poller: (provider: string, taskId: string, dueInMs = 0) => {
        const found = providers.find(provider)
        if (found === undefined) return
        const { least } = found.pollIntervalMs
        const key = shardKey(provider, shardOf(taskId, found.shards))
        engine.wake(pollJobsName, key, dueInMs >= least ? least : 0)
      },
      recordingDispatcher: () => engine.wake(dispatchRecordings.loop, dispatchRecordings.key),
    },
    liveConfig,
    catalog: createCatalog(() => liveConfig.current().models),
    providers,
    router: await createRouter({ liveConfig, providers, postgres, log }),
    enhancer: enhancerChat === undefined ? ruleEnhancer : chatEnhancer(enhancerChat),
    programs,
    ...(await openStorage(config)),
  }
}
