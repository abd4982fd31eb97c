/** The API: its server, the operations of each domain, and the order in which everything closes. */
import { operations } from '@kinora/contract/operations'
import { webhookOperations } from '@kinora/contract/operations/webhooks'

import { capabilityFor } from '../admin/providers/capability-for.ts'
import { createModelEngines } from '../audio/model-engines.ts'
import type { Config } from '../config.ts'
import { bindOperation } from '../http/server/bind-operation.ts'
import type { Log } from '../platform/log.ts'
import { createCurrentStatus } from '../status/current-status.ts'
import { startObserving } from '../status/observe-service.ts'
import { getMedia } from '../storage/get-media.ts'
import { startSpoolSweep } from '../storage/spool-sweep.ts'
import { receiveWebhook } from '../webhooks/inbound/receive-webhook.ts'
import { createWebhookUrls } from '../webhooks/inbound/webhook-url.ts'
import { bindAccount } from './account.ts'
import { bindAdmin } from './admin.ts'
import { connectApi } from './api-context.ts'
import { createApiServer } from './api-server.ts'
import { bindAudio } from './audio.ts'
import { bindCharacters } from './characters.ts'
import { bindChat } from './chat.ts'
import { bindConsole } from './console.ts'
import { bindEvents, createEventFeed } from './events.ts'
import { observeAdmission, observeRoutes, observeStorage } from './metrics.ts'
import { bindPages } from './pages.ts'
import { bindWebhookSecret } from './task-webhooks.ts'
import { bindTranscriptionTasks } from './transcription-tasks.ts'
import { bindVideos, createVideoTasks } from './videos.ts'
import { bindWebhookEndpoints } from './webhook-endpoints.ts'

export const wireApi = async (config: Config, log: Log) => {
  const context = await connectApi(config, log)
  const { postgres, redis, pubsub, engine, wake, liveConfig, providers, router, mediaStore, spool } = context
  const { settings, links, prices, rateLimit, meter } = context
  const { server, adminServer, diskSpace, drain, closeRecorders, closeAuthentication } =
    await createApiServer(context)
  const feed = createEventFeed(context)
  const videoTasks = await createVideoTasks(context, diskSpace, feed.noteChange)

  const withCharacter = bindCharacters(server, context, videoTasks, diskSpace)
  bindVideos(server, context, videoTasks, withCharacter)
  const chat = bindChat(server, context, videoTasks)
  const engines = createModelEngines({ router, log })
  bindWebhookSecret(server, context)
  bindAudio(server, context, engines)
  const transcriptions = bindTranscriptionTasks(server, context)
  bindAccount(server, context, engines)
  bindEvents(server, context, feed)
  bindWebhookEndpoints(server, context)
  bindAdmin(adminServer, context, videoTasks, transcriptions, feed)
  bindOperation(
    server,
    operations.getMedia,
    getMedia({ database: postgres, mediaStore, links, redirectSeconds: config.MEDIA_REDIRECT_SECONDS }),
  )
  const observed = { postgres, catalog: context.catalog, router, capabilityFor, log }
  bindPages(server, config, createCurrentStatus(observed))
  bindConsole(server, context, { isForOperators: false })
  if (adminServer !== server) bindConsole(adminServer, context, { isForOperators: true })
  const observing = startObserving(observed)
  const spoolSweep = startSpoolSweep(spool, log)
  const stopMetrics = [
    observeRoutes({ providers, router }, 'call'),
    observeAdmission(server.admission),
    observeStorage({ spool, mediaStore }, log),
  ]
  bindOperation(
    server,
    webhookOperations.receiveWebhook,
    receiveWebhook({
      postgres,
      providers,
      links: createWebhookUrls(config.LINK_SECRETS, config.publicUrl),
      log,
      countRefused: rateLimit.address,
      wakePoller: wake.poller,
      announce: pubsub.publish,
    }),
  )

  return {
    app: server.app,
    /** Undefined if `app` serves the admin API too. */
    adminApp: adminServer === server ? undefined : adminServer.app,
    postgres,
    close: async () => {
      spoolSweep.stop()
      for (const stop of stopMetrics) stop()
      await observing.stop()
      await drain()
      // Providers may still be working for clients that have disconnected; what they complete is charged.
      await meter.drain()
      await closeRecorders()
      await meter.close()
      await chat.close()
      await videoTasks.stopFollowing()
      await feed.stop()
      await closeAuthentication()
      await prices.stop()
      await settings.stop()
      await router.stop()
      await liveConfig.stop()
      await engine.close()
      redis?.disconnect()
      await postgres.close()
    },
  }
}
