import { imageBytesMax } from '@kinora/contract/limits'
import { openapi } from '@kinora/contract/openapi'
import { errorsOf, type Operation } from '@kinora/contract/operation'
import { operations } from '@kinora/contract/operations'
/** The object graph of each role and the list of routes, on one page. */
import { adminOperations } from '@kinora/contract/operations/admin-operations'
import { webhookOperations } from '@kinora/contract/operations/webhooks'

import { getMe } from '../account/get-me.ts'
import { getReceipt } from '../account/get-receipt.ts'
import { getUsage } from '../account/get-usage.ts'
import { getTotalUsage } from '../admin/accounts/get-total-usage.ts'
import { getAnyReceipt } from '../admin/ledger/get-any-receipt.ts'
import { cancelTask as cancelAnyTask } from '../admin/tasks/cancel-task.ts'
import { getTask } from '../admin/tasks/get-task.ts'
import { listRequests } from '../admin/tasks/list-requests.ts'
import { listTasks } from '../admin/tasks/list-tasks.ts'
import { retryTask } from '../admin/tasks/retry-task.ts'
import { createAdmission } from '../admission/admission.ts'
import { createDiskSpace } from '../admission/disk-space.ts'
import { admissionLimitsOf, heapBytesMax, memoryBytesMax, noAdmissionLimits } from '../admission/limits.ts'
import { createMediaWork, createUnlimitedMediaWork } from '../admission/media-work.ts'
import { createSpeech } from '../audio/create-speech.ts'
import { createTranscription } from '../audio/create-transcription.ts'
import { createTranslation } from '../audio/create-translation.ts'
import { createMeasureAudio } from '../audio/measure-audio.ts'
import { createModelEngines } from '../audio/model-engines.ts'
import { createAuthenticate } from '../auth/authenticate.ts'
import type { Caller } from '../auth/caller.ts'
import { startBillingLoop } from '../billing/billing-loop.ts'
import { createMeter } from '../billing/metering/meter.ts'
import { createPriceList, type PriceList } from '../billing/prices/price-list.ts'
import { findInsolvency } from '../billing/spending/spend.ts'
import { forgetCharactersOfTask, portraitsOf } from '../characters/character-store.ts'
import { createCharacter } from '../characters/create-character.ts'
import { deleteCharacter } from '../characters/delete-character.ts'
import { getCharacter } from '../characters/get-character.ts'
import { listCharacters } from '../characters/list-characters.ts'
import { createCharacterMaker } from '../characters/make-character.ts'
import { createNamedCharacters } from '../characters/named-characters.ts'
import { renameCharacter } from '../characters/rename-character.ts'
import { showCharacter } from '../characters/show-character.ts'
import { createWithCharacter } from '../characters/with-character.ts'
import { createChatAudio } from '../chat/chat-audio.ts'
import { createChatVideo } from '../chat/chat-video.ts'
import { completeChat } from '../chat/complete-chat.ts'
import { createTokenCounter } from '../chat/count-tokens.ts'
import { createRecordingDecoder } from '../chat/decode-recording.ts'
import { createReplyIds } from '../chat/reply-id.ts'
import { ConfigError, type Config } from '../config.ts'
import { createSpool } from '../http/body/spool.ts'
import type { Handler } from '../http/call.ts'
import { bindOperation } from '../http/server/bind-operation.ts'
import type { ConnectionSettings } from '../http/server/node-server.ts'
import { createServer } from '../http/server/server.ts'
import { fingerprintOf } from '../idempotency/fingerprint.ts'
import { storeResponses } from '../idempotency/idempotency-store.ts'
import { createRunOnce } from '../idempotency/run-once.ts'
import { createCatalog, knownModels, type Catalog } from '../models/catalog.ts'
import { getModel } from '../models/get-model.ts'
import { listModels } from '../models/list-models.ts'
import { mayUseModel } from '../models/model-access.ts'
import { superviseEngine } from '../platform/engine/engine-supervisor.ts'
import { connectEngine, serveDurable, type Engine } from '../platform/engine/restate.ts'
import type { Log } from '../platform/log.ts'
import { assertMigrated, ensurePartitions, migrationProblem } from '../platform/migrate.ts'
import { connectPostgres, type Postgres } from '../platform/postgres.ts'
import { postgresPubsub, redisPubsub } from '../platform/pubsub.ts'
import { connectRedis } from '../platform/redis.ts'
import { createLiveConfig } from '../provider-config/live-config.ts'
import { forgetRemovedProviders } from '../provider-config/provider-config-store.ts'
import type { Providers } from '../providers/port/provider.ts'
import { createEnhancerChat, createProviders } from '../providers/registry.ts'
import { limitAborted } from '../rate-limits/limit-aborted.ts'
import { createRateLimit } from '../rate-limits/rate-limit.ts'
import { createRequestRecorder } from '../request-log/record-requests.ts'
import { mediaDaysOf } from '../retention/account-term-store.ts'
import { retainedTranscriptions } from '../retention/kept-transcriptions.ts'
import type { InstanceDays } from '../retention/retention-days.ts'
import { startRetentionLoop } from '../retention/retention-loop.ts'
import { createRouter } from '../routing/router.ts'
import { createSafeFetch } from '../safe-fetch/safe-fetch.ts'
import { recordCurrency } from '../settings/currency-store.ts'
import type { Settings } from '../settings/instance-settings-store.ts'
import { createInstanceSettings, type InstanceSettings } from '../settings/instance-settings.ts'
import { createDiskMediaStore } from '../storage/disk-media-store.ts'
import { createFindLinkedFile } from '../storage/find-linked-file.ts'
import { getMedia } from '../storage/get-media.ts'
import { createMakeVariant } from '../storage/make-variant.ts'
import { createProbeVideo } from '../storage/probe-video.ts'
import { createLinkSigner } from '../storage/signed-link.ts'
import {
  createTranscriptionTask,
  recordingSecondsMax,
} from '../transcription-tasks/api/create-transcription-task.ts'
import { deleteTranscriptionTask } from '../transcription-tasks/api/delete-transcription-task.ts'
import { getTranscript } from '../transcription-tasks/api/get-transcript.ts'
import { getTranscriptionTask } from '../transcription-tasks/api/get-transcription-task.ts'
import { listTranscriptionTasks } from '../transcription-tasks/api/list-transcription-tasks.ts'
import { createAdmitRecording } from '../transcription-tasks/lifecycle/admit-recording.ts'
import {
  dispatchRecordings,
  dispatchRecordingsLoop,
} from '../transcription-tasks/lifecycle/dispatch-recordings.workflow.ts'
import { transcribeRecording } from '../transcription-tasks/lifecycle/transcribe-recording.workflow.ts'
import { markAllStalled as markAllTranscriptionsStalled } from '../transcription-tasks/open-transcription-store.ts'
import { createCutSegment } from '../transcription-tasks/segments/cut-segment.ts'
import { createReadLevels } from '../transcription-tasks/segments/read-levels.ts'
import { dayOfTranscription } from '../transcription-tasks/transcription-id.ts'
import { cancelVideo, createCancelTask } from '../videos/api/cancel-video.ts'
import { createVideoTask } from '../videos/api/create-video-task.ts'
import { createVideo } from '../videos/api/create-video.ts'
import { deleteVideo } from '../videos/api/delete-video.ts'
import { followVideo } from '../videos/api/follow-video.ts'
import { getVideoContent } from '../videos/api/get-video-content.ts'
import { getVideo } from '../videos/api/get-video.ts'
import { listVideos } from '../videos/api/list-videos.ts'
import { queryVideoTask } from '../videos/api/query-video-task.ts'
import { createReadTask } from '../videos/api/read-task.ts'
import { remixVideo } from '../videos/api/remix-video.ts'
import { createWaitForTask } from '../videos/api/wait-for-task.ts'
import { discardJob } from '../videos/lifecycle/discard-job.ts'
import { createFollow } from '../videos/lifecycle/follow-task.ts'
import { generateVideo, type GenerateDependencies } from '../videos/lifecycle/generate-video.workflow.ts'
import { markAllStalled } from '../videos/open-task-store.ts'
import { createJobDurations } from '../videos/polling/job-durations.ts'
import { pollJobs, pollJobsName } from '../videos/polling/poll-jobs.workflow.ts'
import { chatEnhancer } from '../videos/prompts/chat-enhancer.ts'
import { ruleEnhancer } from '../videos/prompts/rule-enhancer.ts'
import { createAdmitVideo } from '../videos/queue/admit-video.ts'
import { dispatchVideos, dispatchVideosName } from '../videos/queue/dispatch-videos.workflow.ts'
import { queueDefaults, type QueueLimits } from '../videos/queue/queue-limits.ts'
import { shardKey, shardOf } from '../videos/shard.ts'
import { dayOfTaskId } from '../videos/task-id.ts'
import { receiveWebhook } from '../webhooks/inbound/receive-webhook.ts'
import { createWebhookUrls } from '../webhooks/inbound/webhook-url.ts'
import { wireAdmin } from './admin.ts'
import { videoLoops } from './video-loops.ts'

const mebibyte = 1_048_576
const uploadRateWindowMs = 15_000
/** How many times its size a compressed body may inflate to. Text of requests rarely comes to twenty. */
const inflationMax = 100
const minuteMs = 60_000
const dayMs = 86_400_000

/** What holds until an operator changes it. */
const settingsOf = (config: Config): Settings => ({
  limits: {
    create: config.LIMIT_CREATES_PER_MINUTE,
    read: config.LIMIT_READS_PER_MINUTE,
    audio: config.LIMIT_AUDIO_PER_MINUTE,
    chat: config.LIMIT_CHAT_PER_MINUTE,
  },
  concurrencyPerAccount: queueDefaults.concurrencyPerAccount,
  concurrencyPerKey: queueDefaults.concurrencyPerKey,
  queueLengthPerAccount: queueDefaults.depthPerAccount,
  mediaRetentionDays: config.MEDIA_RETENTION_DAYS,
  taskRetentionDays: config.TASK_RETENTION_DAYS,
  logRetentionDays: config.LOG_RETENTION_DAYS,
})

/** What a connection may hold; without admission control, anything. */
const connectionSettingsOf = (config: Config): ConnectionSettings => {
  const limited = (limit: number) => (config.ADMISSION_CONTROL ? limit : Infinity)
  return {
    connectionsPerAddress: limited(config.LIMIT_CONNECTIONS_PER_ADDRESS),
    connections: limited(config.LIMIT_CONNECTIONS),
    responseStallMs: limited(config.RESPONSE_STALL_SECONDS * 1000),
    serialisesRequests: config.ADMISSION_CONTROL,
    trustedProxies: config.TRUSTED_PROXIES,
  }
}

const retentionDays =
  (settings: InstanceSettings): InstanceDays =>
  () => {
    const { mediaRetentionDays, taskRetentionDays, logRetentionDays } = settings.current()
    return { media: mediaRetentionDays, task: taskRetentionDays, log: logRetentionDays }
  }

const queueLimitsOf = (settings: InstanceSettings) => (): QueueLimits => {
  const { concurrencyPerAccount, concurrencyPerKey, queueLengthPerAccount } = settings.current()
  return { concurrencyPerAccount, concurrencyPerKey, depthPerAccount: queueLengthPerAccount }
}

const liveConfigOf = (config: Config, postgres: Postgres, log: Log) =>
  createLiveConfig({
    postgres,
    readProviderConfig: config.readProviderConfig,
    credentialSecrets: config.CREDENTIAL_SECRETS,
    protocols: config.protocols,
    knownModels,
    log,
  })

const wakePollerOf = (engine: Engine, providers: Providers) => (provider: string, taskId: string) => {
  const { shards } = providers.get(provider)
  engine.wake(pollJobsName, shardKey(provider, shardOf(taskId, shards)))
}

/** Whether this operation may be for a model that costs nothing, which is known for certain once its body was read. */
const mayBeFree = (catalog: Catalog, prices: PriceList, caller: Caller, { path }: Operation): boolean => {
  const usable = catalog.available().filter(({ id }) => mayUseModel(caller, id))
  const served = usable.filter(({ endpoints }) => endpoints.includes(path))
  const free = prices.freeModels()
  return (served.length > 0 ? served : usable).some(({ id }) => free.has(id))
}

/** Before anything else is read: a table that is not there yet would only be an error of SQL. */
const connectMigrated = async (
  config: Config,
  log: Log,
  { connectionsMax, isApi = false }: { connectionsMax: number; isApi?: boolean },
): Promise<Postgres> => {
  const postgres = connectPostgres({ url: config.DATABASE_URL, connectionsMax }, log)
  try {
    await assertMigrated(postgres)
    const problem = await recordCurrency(postgres, config.CURRENCY, { mayChange: isApi })
    if (problem !== undefined) throw new ConfigError(problem)
    return postgres
  } catch (error) {
    await postgres.close()
    throw error
  }
}

const mediaWorkOf = (config: Config) => {
  const concurrency = config.MEDIA_WORK_CONCURRENCY
  if (!config.ADMISSION_CONTROL) return createUnlimitedMediaWork(concurrency)
  return createMediaWork({
    concurrency,
    runningPerAccount: config.MEDIA_WORK_CONCURRENCY_PER_ACCOUNT ?? Math.max(1, Math.floor(concurrency / 2)),
    inFlight: config.LIMIT_MEDIA_WORK,
  })
}

/** What both roles stand on. */
const connect = async (config: Config, log: Log, isApi: boolean) => {
  const postgres = await connectMigrated(config, log, { connectionsMax: config.DATABASE_CONNECTIONS, isApi })
  const redis = config.REDIS_URL === undefined ? undefined : connectRedis(config.REDIS_URL, log)
  const enhancerChat = createEnhancerChat(config)
  const providerConfig = await liveConfigOf(config, postgres, log)
  const providers = createProviders(providerConfig, { ffmpegPath: config.FFMPEG_PATH })
  return {
    postgres,
    redis,
    pubsub: redis === undefined ? postgresPubsub(postgres, log) : redisPubsub(redis, log),
    engine: connectEngine(
      { ingressUrl: config.RESTATE_INGRESS_URL, adminUrl: config.RESTATE_ADMIN_URL },
      log,
    ),
    providerConfig,
    catalog: createCatalog(() => providerConfig.current().models),
    providers,
    router: await createRouter({ providerConfig, providers, postgres, log }),
    enhancer: enhancerChat === undefined ? ruleEnhancer : chatEnhancer(enhancerChat),
    mediaStore: await createDiskMediaStore(config.MEDIA_DIRECTORY),
  }
}

export const wireApi = async (config: Config, log: Log) => {
  const {
    postgres,
    redis,
    pubsub,
    engine,
    providerConfig,
    catalog,
    providers,
    router,
    enhancer,
    mediaStore,
  } = await connect(config, log, true)
  if (redis === undefined && !(await postgres.holdLock('kinora:api-without-redis'))) {
    await router.stop()
    await providerConfig.stop()
    throw new Error(
      'Another API process runs on this database. Set REDIS_URL so that they can share rate limits.',
    )
  }
  const settings = await createInstanceSettings(postgres, settingsOf(config), log)
  const authenticate = await createAuthenticate(postgres, config.KEY_HASH_SECRETS, config.CURRENCY)
  const links = createLinkSigner(config.LINK_SECRETS, config.publicUrl, config.LINK_SECONDS)
  const wakeDispatcher = (provider: string) => engine.wake(dispatchVideosName, provider)
  const prices = await createPriceList({ postgres, catalog, log }, () => providerConfig.current().models)
  const admitVideo = createAdmitVideo({
    postgres,
    router,
    prices,
    deadlineMs: config.TASK_DEADLINE_SECONDS * 1000,
    queueLimits: queueLimitsOf(settings),
    wakeDispatcher,
    namedCharacters: createNamedCharacters(postgres),
    storeResponses,
  })
  const safeFetch = createSafeFetch({ allowOrigins: config.FETCH_ALLOW_ORIGINS })
  const images = { mediaStore, safeFetch, findLinkedFile: createFindLinkedFile(postgres, links) }

  const isGuarded = config.ADMISSION_CONTROL
  const diskSpace = createDiskSpace(mediaStore.spoolDirectory, isGuarded ? config.DISK_FREE_BYTES_MIN : 0)
  const requestRecorder = createRequestRecorder(
    { postgres, log },
    { anonymousRowsPerMinute: isGuarded ? 100 : Infinity },
  )
  const { record, count } = requestRecorder
  const rateLimit = createRateLimit(
    {
      perMinute: () => settings.current().limits,
      perAddress: isGuarded ? config.LIMIT_ADDRESS_PER_3_MINUTES : 0,
      abortedPerMinute: config.LIMIT_ABORTED_PER_MINUTE,
    },
    redis,
  )
  const { app, closing, drain, isOverloaded, beginChecks } = createServer(
    {
      ...connectionSettingsOf(config),
      overload: {
        eventLoopDelayMs: isGuarded ? config.OVERLOAD_EVENT_LOOP_DELAY_MS : 0,
        memoryBytes: isGuarded ? (config.OVERLOAD_MEMORY_BYTES ?? memoryBytesMax()) : 0,
        heapBytes: isGuarded ? heapBytesMax() : 0,
      },
    },
    {
      problems: async () => {
        const problem = await migrationProblem(postgres)
        return problem === undefined ? [] : [`${problem}; run \`kinora migrate\``]
      },
    },
    log,
    { record, count: isGuarded ? count : record },
    rateLimit.address,
  )
  const replies = createRunOnce({ postgres, log })
  const server = {
    app,
    authenticate,
    rateLimit,
    admission: createAdmission(isGuarded ? admissionLimitsOf(config) : noAdmissionLimits),
    mediaWork: mediaWorkOf(config),
    isOverloaded,
    beginChecks,
    isGuarded,
    findInsolvency: async (caller: Caller, operation: Operation) => {
      if (!isGuarded || !errorsOf(operation).includes('insufficient_balance')) return undefined
      const insolvency = await findInsolvency(postgres, caller)
      return mayBeFree(catalog, prices, caller, operation) ? undefined : insolvency
    },
    body: {
      minimumRate: {
        bytesPerSecondMin: isGuarded ? config.LIMIT_UPLOAD_BYTES_PER_SECOND_MIN : 0,
        windowMs: uploadRateWindowMs,
      },
      inflationMax: isGuarded ? inflationMax : Infinity,
    },
    form: {
      fileBytesMax: imageBytesMax,
      fieldBytesMax: mebibyte,
      fieldsBytesMax: isGuarded ? 2 * mebibyte : Infinity,
    },
    spool: createSpool(mediaStore.spoolDirectory, diskSpace),
    closing,
    repeats: { fingerprintOf, runOnce: replies.runOnce, mayReplay: replies.mayReplay },
    isModel: (text: string) => catalog.available().some(({ id }) => id === text),
    isTaskId: (text: string) => dayOfTaskId(text) !== undefined || dayOfTranscription(text) !== undefined,
    log,
  }
  const meter = limitAborted(createMeter({ postgres, log }), rateLimit, log)
  const days = retentionDays(settings)
  const taskDays = () => days().task
  const readTask = createReadTask(postgres, taskDays)
  const { follow, stop: stopFollowing } = await createFollow(postgres, pubsub, log)
  const cancelTask = createCancelTask({
    postgres,
    providers,
    readTask,
    mediaStore,
    log,
    announce: pubsub.publish,
    onSlotFreed: wakeDispatcher,
    forgetCharacters: (taskId) => forgetCharactersOfTask(postgres, taskId),
    wakeRun: engine.resolveAwakeable,
  })
  const maker = createCharacterMaker({
    postgres,
    mediaStore,
    // A video takes longer than a picture; who asked for it is told to come back.
    safeFetch: createSafeFetch({ allowOrigins: config.FETCH_ALLOW_ORIGINS, totalTimeoutMs: 240_000 }),
    findLinkedFile: images.findLinkedFile,
    readTask,
    ffmpegPath: config.FFMPEG_PATH,
    ffprobePath: config.FFPROBE_PATH,
    patienceMs: config.CHARACTER_WAIT_SECONDS * 1000,
    diskSpace,
    log,
  })
  const withCharacter = createWithCharacter(maker)
  const description = openapi(config.publicUrl)
  const getOpenapi: Handler<typeof operations.getOpenapi> = async () => ({ body: description })

  bindOperation(server, operations.createVideo, createVideo({ catalog, admitVideo, images, withCharacter }))
  bindOperation(
    server,
    operations.createVideoTask,
    createVideoTask({ catalog, admitVideo, images, enhancer, withCharacter }),
  )
  const status = { readTask, waitForTask: createWaitForTask(readTask, follow), links, catalog }
  bindOperation(server, operations.getVideo, getVideo(status))
  bindOperation(server, operations.queryVideoTask, queryVideoTask(status))
  bindOperation(server, operations.listVideos, listVideos({ database: postgres, links, taskDays }))
  bindOperation(
    server,
    operations.deleteVideo,
    deleteVideo({ postgres, providers, mediaStore, readTask, log }),
  )
  const makeVariant = createMakeVariant({
    database: postgres,
    mediaStore,
    ffmpegPath: config.FFMPEG_PATH,
    log,
  })
  bindOperation(
    server,
    operations.getVideoContent,
    getVideoContent({ database: postgres, readTask, mediaStore, makeVariant, links, catalog }),
  )
  bindOperation(server, operations.followVideo, followVideo({ database: postgres, readTask, follow, links }))
  const chatVideo = createChatVideo({
    admitVideo,
    images,
    readTask,
    follow,
    links,
    cancelTask,
    waitMs: config.CHAT_VIDEO_WAIT_SECONDS * 1000,
  })
  bindOperation(server, operations.remixVideo, remixVideo({ catalog, providers, readTask, admitVideo }))
  bindOperation(server, operations.cancelVideo, cancelVideo({ cancelTask, links }))
  const characters = { database: postgres, links, publicUrl: config.publicUrl }
  bindOperation(server, operations.createCharacter, createCharacter({ maker, ...characters }))
  bindOperation(server, operations.listCharacters, listCharacters(characters))
  bindOperation(server, operations.getCharacter, getCharacter(characters))
  bindOperation(server, operations.renameCharacter, renameCharacter(characters))
  bindOperation(server, operations.deleteCharacter, deleteCharacter({ database: postgres, mediaStore }))
  bindOperation(server, operations.showCharacter, showCharacter(characters))
  const audio = { catalog, router, prices, meter, requiresPayg: config.AUDIO_REQUIRES_PAYG }
  const measureAudio = createMeasureAudio({
    ffprobePath: config.FFPROBE_PATH,
    secondsMax: config.AUDIO_SECONDS_MAX,
  })
  const tokens = createTokenCounter()
  const decoder = createRecordingDecoder()
  const chatAudio = createChatAudio({
    router,
    prices,
    meter,
    measureAudio,
    decoder,
    spoolDirectory: mediaStore.spoolDirectory,
    tokens,
    replyIds: createReplyIds(config.LINK_SECRETS),
  })
  bindOperation(server, operations.completeChat, completeChat({ catalog, chatVideo, chatAudio }))
  bindOperation(server, operations.createTranscription, createTranscription({ ...audio, measureAudio }))
  bindOperation(server, operations.createTranslation, createTranslation({ ...audio, measureAudio }))
  bindOperation(server, operations.createSpeech, createSpeech(audio))
  const retentionMs = () => days().media * dayMs
  const wakeRecordings = () => engine.wake(dispatchRecordings.loop, dispatchRecordings.key)
  const recordings = { postgres, mediaStore, log, retentionMs, wakeDispatcher: wakeRecordings }
  bindOperation(
    server,
    operations.createTranscriptionTask,
    createTranscriptionTask({
      ...audio,
      measureAudio: createMeasureAudio({
        ffprobePath: config.FFPROBE_PATH,
        secondsMax: recordingSecondsMax,
        adviceForLonger: 'Split it.',
      }),
      admitRecording: createAdmitRecording({
        ...recordings,
        prices,
        storeResponses,
        deadlineMs: config.TASK_DEADLINE_SECONDS * 1000,
      }),
    }),
  )
  const kept = retainedTranscriptions(postgres, days)
  const ofTask = { database: postgres }
  bindOperation(
    server,
    operations.listTranscriptionTasks,
    listTranscriptionTasks({ ...ofTask, keptSince: kept.since }),
  )
  bindOperation(server, operations.getTranscriptionTask, kept.one(getTranscriptionTask(ofTask)))
  bindOperation(server, operations.getTranscript, kept.one(getTranscript(ofTask)))
  bindOperation(server, operations.deleteTranscriptionTask, kept.one(deleteTranscriptionTask(recordings)))
  const engines = createModelEngines({ catalog, router, log })
  bindOperation(server, operations.listModels, listModels({ catalog, engines }))
  bindOperation(server, operations.getModel, getModel({ catalog, engines }))
  bindOperation(server, operations.getMe, getMe({ database: postgres, settings: settings.current }))
  bindOperation(server, operations.getUsage, getUsage({ postgres }))
  bindOperation(server, operations.getReceipt, getReceipt({ database: postgres }))
  wireAdmin(server, {
    postgres,
    catalog,
    prices,
    settings,
    keySecrets: config.KEY_HASH_SECRETS,
    publicUrl: config.publicUrl,
    providerConfig,
    router,
    protocols: config.protocols,
    credentialSecrets: config.CREDENTIAL_SECRETS,
  })
  bindOperation(server, adminOperations.listTasks, listTasks({ postgres }))
  bindOperation(server, adminOperations.getTask, getTask({ database: postgres }))
  bindOperation(
    server,
    adminOperations.retryTask,
    retryTask({
      database: postgres,
      catalog,
      admitVideo,
      readTask,
      charactersLeft: async (ids) => new Set((await portraitsOf(postgres, ids)).keys()),
    }),
  )
  bindOperation(server, adminOperations.cancelTask, cancelAnyTask({ cancelVideo: cancelTask, recordings }))
  bindOperation(server, adminOperations.getAnyReceipt, getAnyReceipt({ database: postgres }))
  bindOperation(server, adminOperations.getTotalUsage, getTotalUsage({ postgres }))
  bindOperation(server, adminOperations.listRequests, listRequests({ postgres }))
  bindOperation(server, operations.getMedia, getMedia({ database: postgres, mediaStore, links }))
  bindOperation(server, operations.getOpenapi, getOpenapi)
  bindOperation(
    server,
    webhookOperations.receiveWebhook,
    receiveWebhook({
      postgres,
      providers,
      links: createWebhookUrls(config.LINK_SECRETS, config.publicUrl),
      log,
      countRefused: rateLimit.address,
      wakePoller: wakePollerOf(engine, providers),
      announce: pubsub.publish,
    }),
  )

  return {
    app,
    postgres,
    close: async () => {
      await drain(config.LAME_DUCK_SECONDS * 1000)
      // Providers may still be at work for clients that have disconnected, and what they complete is charged.
      await meter.drain()
      await requestRecorder.close()
      replies.close()
      await meter.close()
      await tokens.close()
      await decoder.close()
      await stopFollowing()
      await authenticate.close()
      await prices.stop()
      await settings.stop()
      await router.stop()
      await providerConfig.stop()
      await engine.close()
      redis?.disconnect()
      await postgres.close()
    },
  }
}

export const wireWorker = async (config: Config, log: Log) => {
  const {
    postgres,
    redis,
    pubsub,
    engine,
    providerConfig,
    catalog,
    providers,
    router,
    enhancer,
    mediaStore,
  } = await connect(config, log, false)
  const wakeDispatcher = (provider: string) => engine.wake(dispatchVideosName, provider)
  const settings = await createInstanceSettings(postgres, settingsOf(config), log)
  const days = retentionDays(settings)
  const pace = createJobDurations({ postgres, log })
  const steps: GenerateDependencies = {
    postgres,
    providers,
    router,
    pace,
    mediaStore,
    log,
    probeVideo: createProbeVideo(config.FFPROBE_PATH),
    enhancer,
    retentionMsOf: async (accountId) => (await mediaDaysOf(postgres, accountId, days())) * dayMs,
    wakeDispatcher,
    announce: pubsub.publish,
    onSlotFreed: wakeDispatcher,
    wakePoller: wakePollerOf(engine, providers),
    discardJob: discardJob(providers),
    portraitsOf: (characterIds) => portraitsOf(postgres, characterIds),
    forgetCharacters: (taskId) => forgetCharactersOfTask(postgres, taskId),
    webhookUrlOf: createWebhookUrls(config.LINK_SECRETS, config.publicUrl).urlFor,
  }
  const recordings = {
    postgres,
    router,
    mediaStore,
    log,
    readLevels: createReadLevels(config.FFMPEG_PATH),
    cutSegment: createCutSegment(config.FFMPEG_PATH),
    retentionMs: () => days().media * dayMs,
    wakeDispatcher: () => engine.wake(dispatchRecordings.loop, dispatchRecordings.key),
  }
  const suspendAfterMs = config.ENGINE_SUSPEND_AFTER_MS
  const served = await serveDurable(
    [
      generateVideo(steps, suspendAfterMs),
      dispatchVideos(
        { postgres, providers, router, catalog, engine, queueLimits: queueLimitsOf(settings), log },
        suspendAfterMs,
      ),
      pollJobs(
        { postgres, providers, engine, catalog, pace, router, announce: pubsub.publish, log },
        suspendAfterMs,
      ),
      transcribeRecording(recordings, suspendAfterMs),
      dispatchRecordingsLoop({ postgres, mediaStore, engine, log }, suspendAfterMs),
    ],
    { host: config.WORKER_HOST, port: config.WORKER_PORT, identityKeys: config.ENGINE_IDENTITY_KEYS },
    log,
  )
  const turning = await superviseEngine({
    postgres,
    engine,
    loops: () => [...videoLoops(providers), dispatchRecordings],
    markAllStalled: async () =>
      (await markAllStalled(postgres)) + (await markAllTranscriptionsStalled(postgres)),
    workerUrl: config.workerUrl,
    log,
  })
  const makePartitions = () =>
    ensurePartitions(postgres).catch((error: unknown) => log.warn({ err: error }, 'partitions.not-made'))
  await makePartitions()
  const daily = setInterval(() => void makePartitions(), dayMs)
  const meter = createMeter({ postgres, log })
  const giveUpLapsed = () =>
    meter.releaseLapsed().catch((error: unknown) => log.warn({ err: error }, 'meter.not-released'))
  await giveUpLapsed()
  const forgetRemoved = () =>
    forgetRemovedProviders(postgres).catch((error: unknown) =>
      log.warn({ err: error }, 'provider-config.not-cleared'),
    )
  const everyMinute = setInterval(() => {
    void giveUpLapsed()
    void forgetRemoved()
  }, minuteMs)
  const books = startBillingLoop({ postgres, log })
  const clearing = startRetentionLoop({ postgres, mediaStore, providers, days, log })
  return {
    close: async () => {
      clearInterval(daily)
      clearInterval(everyMinute)
      await books.stop()
      await clearing.stop()
      await meter.close()
      await turning.stop()
      await served.close()
      await pace.stop()
      await settings.stop()
      await router.stop()
      await providerConfig.stop()
      await engine.close()
      redis?.disconnect()
      await postgres.close()
    },
  }
}

/** What is needed to clear away what is past, without a worker. */
export const wireRetention = async (config: Config, log: Log) => {
  const postgres = await connectMigrated(config, log, { connectionsMax: 2 })
  const settings = await createInstanceSettings(postgres, settingsOf(config), log)
  const providerConfig = await liveConfigOf(config, postgres, log)
  return {
    postgres,
    providers: createProviders(providerConfig, { ffmpegPath: config.FFMPEG_PATH }),
    mediaStore: await createDiskMediaStore(config.MEDIA_DIRECTORY),
    days: retentionDays(settings),
    log,
    close: async () => {
      await settings.stop()
      await providerConfig.stop()
      await postgres.close()
    },
  }
}
