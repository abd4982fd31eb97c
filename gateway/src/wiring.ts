/** The object graph of each role and the list of routes, on one page. */
import { openapi } from '@kinora/contract/openapi'
import { operations } from '@kinora/contract/operations'

import { forgetCharactersOfTask, portraitsOf } from './characters/character-store.ts'
import { createCharacter } from './characters/create-character.ts'
import { deleteCharacter } from './characters/delete-character.ts'
import { getCharacter } from './characters/get-character.ts'
import { listCharacters } from './characters/list-characters.ts'
import { createCharacterMaker } from './characters/make-character.ts'
import { createNamedCharacters } from './characters/named-characters.ts'
import { renameCharacter } from './characters/rename-character.ts'
import { showCharacter } from './characters/show-character.ts'
import { createWithCharacter } from './characters/with-character.ts'
import { createChatVideo } from './chat/chat-video.ts'
import { completeChat } from './chat/complete-chat.ts'
import type { Config } from './config.ts'
import { createByteBudget } from './http/byte-budget.ts'
import type { Handler } from './http/call.ts'
import { implement } from './http/implement.ts'
import { createServer } from './http/server.ts'
import { createAuthenticate } from './keys/authenticate.ts'
import { createRateLimit } from './limits/rate-limit.ts'
import { createCatalog } from './models/catalog.ts'
import { getModel } from './models/get-model.ts'
import { listModels } from './models/list-models.ts'
import { createOutsideFetcher } from './outside/fetch-outside.ts'
import type { Log } from './platform/log.ts'
import { ensurePartitions, missingMigrations } from './platform/migrate.ts'
import { postgresNews, redisNews } from './platform/news.ts'
import { connectPostgres } from './platform/postgres.ts'
import { connectRedis } from './platform/redis.ts'
import { connectEngine, serveDurable } from './platform/restate.ts'
import { createEnhancerChat, createProviders } from './providers/registry.ts'
import { createDiskMediaStore } from './storage/disk-media-store.ts'
import { createFindLinkedFile } from './storage/find-linked-file.ts'
import { getMedia } from './storage/get-media.ts'
import { createMakeVariant } from './storage/make-variant.ts'
import { createProbeVideo } from './storage/probe-video.ts'
import { createLinkSigner } from './storage/signed-link.ts'
import { createAcceptVideo } from './videos/accept-video.ts'
import { cancelVideo, createCancelTask } from './videos/cancel-video.ts'
import { chatEnhancer } from './videos/chat-enhancer.ts'
import { createVideoTask } from './videos/create-video-task.ts'
import { createVideo } from './videos/create-video.ts'
import { deleteVideo } from './videos/delete-video.ts'
import { discardUpstream } from './videos/discard-upstream.ts'
import { dispatchVideos, dispatchVideosName } from './videos/dispatch-videos.workflow.ts'
import { createFollow } from './videos/follow-task.ts'
import { followVideo } from './videos/follow-video.ts'
import { generateVideo, type GenerateDependencies } from './videos/generate-video.workflow.ts'
import { getVideoContent } from './videos/get-video-content.ts'
import { getVideo } from './videos/get-video.ts'
import { keepEngineTurning } from './videos/keep-engine-turning.ts'
import { listVideos } from './videos/list-videos.ts'
import { queryVideoTask } from './videos/query-video-task.ts'
import { createReadTask } from './videos/read-task.ts'
import { pictureBytesMax } from './videos/reference-picture.ts'
import { remixVideo } from './videos/remix-video.ts'
import { ruleEnhancer } from './videos/rule-enhancer.ts'
import { shardKey, shardOf } from './videos/shard.ts'
import { createWaitForChange } from './videos/wait-for-change.ts'
import { watchUpstream, watchUpstreamName } from './videos/watch-upstream.workflow.ts'

const mebibyte = 1_048_576
const dayMs = 86_400_000

/** What both roles stand on. */
const connect = async (config: Config, log: Log) => {
  const postgres = connectPostgres(
    { url: config.DATABASE_URL, connectionsMax: config.DATABASE_CONNECTIONS },
    log,
  )
  const redis = config.REDIS_URL === undefined ? undefined : connectRedis(config.REDIS_URL, log)
  const enhancerChat = createEnhancerChat(config)
  return {
    postgres,
    redis,
    news: redis === undefined ? postgresNews(postgres, log) : redisNews(redis, log),
    engine: connectEngine(
      { ingressUrl: config.RESTATE_INGRESS_URL, adminUrl: config.RESTATE_ADMIN_URL },
      log,
    ),
    catalog: createCatalog(config.models),
    providers: createProviders(config.providers, config.models),
    enhancer: enhancerChat === undefined ? ruleEnhancer : chatEnhancer(enhancerChat),
    mediaStore: await createDiskMediaStore(config.MEDIA_DIRECTORY),
  }
}

export const wireApi = async (config: Config, log: Log) => {
  const { postgres, redis, news, engine, catalog, providers, enhancer, mediaStore } = await connect(
    config,
    log,
  )
  if (redis === undefined && !(await postgres.holdLock('kinora:api-without-redis'))) {
    throw new Error(
      'Another API process runs on this database. Set REDIS_URL so that they can share rate limits.',
    )
  }
  const authenticate = await createAuthenticate(postgres, config.KEY_HASH_SECRETS)
  const links = createLinkSigner(config.LINK_SECRETS, config.publicUrl, config.LINK_SECONDS)
  const nudgeDispatcher = (provider: string) => engine.nudge(dispatchVideosName, provider)
  const acceptVideo = createAcceptVideo({
    postgres,
    providers,
    deadlineMs: config.TASK_DEADLINE_SECONDS * 1000,
    nudgeDispatcher,
    namedCharacters: createNamedCharacters(postgres),
  })
  const outside = createOutsideFetcher({ allowOrigins: config.FETCH_ALLOW_ORIGINS })
  const pictures = { mediaStore, outside, findLinkedFile: createFindLinkedFile(postgres, links) }

  const { app, closing, drain } = createServer(
    { trustedProxies: config.TRUSTED_PROXIES },
    {
      problems: async () => {
        const missing = await missingMigrations(postgres)
        return missing.length === 0 ? [] : [`the database lacks ${missing.join(', ')}`]
      },
    },
    log,
  )
  const door = {
    app,
    authenticate,
    rateLimit: createRateLimit(
      {
        createsPerMinute: config.LIMIT_CREATES_PER_MINUTE,
        readsPerMinute: config.LIMIT_READS_PER_MINUTE,
        perAddress: config.LIMIT_ADDRESS_PER_3_MINUTES,
      },
      redis,
    ),
    budget: createByteBudget(64 * mebibyte),
    form: {
      fileBytesMax: pictureBytesMax,
      fieldBytesMax: mebibyte,
      spoolDirectory: mediaStore.spoolDirectory,
    },
    closing,
    log,
  }
  const readTask = createReadTask(postgres)
  const { follow, stop: stopFollowing } = await createFollow(postgres, news, log)
  const cancelTask = createCancelTask({
    postgres,
    providers,
    readTask,
    mediaStore,
    log,
    announce: news.publish,
    onSlotFreed: nudgeDispatcher,
    forgetCharacters: (taskId) => forgetCharactersOfTask(postgres, taskId),
    wakeRun: engine.resolveAwakeable,
  })
  const maker = createCharacterMaker({
    postgres,
    mediaStore,
    // A video takes longer than a picture; who asked for it is told to come back.
    outside: createOutsideFetcher({ allowOrigins: config.FETCH_ALLOW_ORIGINS, totalTimeoutMs: 240_000 }),
    findLinkedFile: pictures.findLinkedFile,
    readTask,
    ffmpegPath: config.FFMPEG_PATH,
    ffprobePath: config.FFPROBE_PATH,
    patienceMs: config.CHARACTER_WAIT_SECONDS * 1000,
    log,
  })
  const withCharacter = createWithCharacter(maker)
  const description = openapi(config.publicUrl)
  const getOpenapi: Handler<typeof operations.getOpenapi> = async () => ({ body: description })

  implement(door, operations.createVideo, createVideo({ catalog, acceptVideo, pictures, withCharacter }))
  implement(
    door,
    operations.createVideoTask,
    createVideoTask({ catalog, acceptVideo, pictures, enhancer, withCharacter }),
  )
  const status = { readTask, waitForChange: createWaitForChange(readTask, follow), links, catalog }
  implement(door, operations.getVideo, getVideo(status))
  implement(door, operations.queryVideoTask, queryVideoTask(status))
  implement(door, operations.listVideos, listVideos({ database: postgres, links }))
  implement(door, operations.deleteVideo, deleteVideo({ postgres, providers, mediaStore, readTask, log }))
  const makeVariant = createMakeVariant({
    database: postgres,
    mediaStore,
    ffmpegPath: config.FFMPEG_PATH,
    log,
  })
  implement(
    door,
    operations.getVideoContent,
    getVideoContent({ database: postgres, readTask, mediaStore, makeVariant, links, catalog }),
  )
  implement(door, operations.followVideo, followVideo({ database: postgres, readTask, follow, links }))
  const chatVideo = createChatVideo({
    acceptVideo,
    pictures,
    follow,
    links,
    cancelTask,
    waitMs: config.CHAT_VIDEO_WAIT_SECONDS * 1000,
  })
  implement(door, operations.completeChat, completeChat({ catalog, chatVideo }))
  implement(door, operations.remixVideo, remixVideo({ catalog, providers, readTask, acceptVideo }))
  implement(door, operations.cancelVideo, cancelVideo({ cancelTask, links }))
  const characters = { database: postgres, links, publicUrl: config.publicUrl }
  implement(door, operations.createCharacter, createCharacter({ maker, ...characters }))
  implement(door, operations.listCharacters, listCharacters(characters))
  implement(door, operations.getCharacter, getCharacter(characters))
  implement(door, operations.renameCharacter, renameCharacter(characters))
  implement(door, operations.deleteCharacter, deleteCharacter({ database: postgres, mediaStore }))
  implement(door, operations.showCharacter, showCharacter(characters))
  implement(door, operations.listModels, listModels({ catalog }))
  implement(door, operations.getModel, getModel({ catalog }))
  implement(door, operations.getMedia, getMedia({ database: postgres, mediaStore, links }))
  implement(door, operations.getOpenapi, getOpenapi)

  return {
    app,
    postgres,
    close: async () => {
      await drain(config.LAME_DUCK_SECONDS * 1000)
      await stopFollowing()
      await authenticate.close()
      await engine.close()
      redis?.disconnect()
      await postgres.close()
    },
  }
}

export const wireWorker = async (config: Config, log: Log) => {
  const { postgres, redis, news, engine, catalog, providers, enhancer, mediaStore } = await connect(
    config,
    log,
  )
  const nudgeDispatcher = (provider: string) => engine.nudge(dispatchVideosName, provider)
  const steps: GenerateDependencies = {
    postgres,
    providers,
    mediaStore,
    log,
    probeVideo: createProbeVideo(config.FFPROBE_PATH),
    enhancer,
    retentionMs: config.MEDIA_RETENTION_DAYS * dayMs,
    nudgeDispatcher,
    announce: news.publish,
    onSlotFreed: nudgeDispatcher,
    nudgeWatch: (provider, taskId) => {
      const { shards } = providers.get(provider)
      engine.nudge(watchUpstreamName, shardKey(provider, shardOf(taskId, shards)))
    },
    discardUpstream: discardUpstream(providers),
    portraitsOf: (characterIds) => portraitsOf(postgres, characterIds),
    forgetCharacters: (taskId) => forgetCharactersOfTask(postgres, taskId),
  }
  const suspendAfterMs = config.ENGINE_SUSPEND_AFTER_MS
  const served = await serveDurable(
    [
      generateVideo(steps, suspendAfterMs),
      dispatchVideos({ postgres, providers, engine, log }, suspendAfterMs),
      watchUpstream({ postgres, providers, engine, catalog, announce: news.publish, log }, suspendAfterMs),
    ],
    { host: config.WORKER_HOST, port: config.WORKER_PORT, identityKeys: config.ENGINE_IDENTITY_KEYS },
    log,
  )
  const turning = await keepEngineTurning({ postgres, engine, providers, workerUrl: config.workerUrl, log })
  const makePartitions = () =>
    ensurePartitions(postgres).catch((error: unknown) => log.warn({ err: error }, 'partitions.not-made'))
  await makePartitions()
  const daily = setInterval(() => void makePartitions(), dayMs)
  return {
    close: async () => {
      clearInterval(daily)
      await turning.stop()
      await served.close()
      await engine.close()
      redis?.disconnect()
      await postgres.close()
    },
  }
}
