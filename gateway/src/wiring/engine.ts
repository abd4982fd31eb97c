/** What the engine should run, and the check of it that runs outside a worker. */
import type { Config } from '../config.ts'
import { withLongStatements } from '../platform/database/long-statements.ts'
import { checkEngine, type CheckDependencies, type EngineCheck } from '../platform/engine/anti-entropy.ts'
import { connectEngine } from '../platform/engine/restate.ts'
import type { Log } from '../platform/log.ts'
import type { Postgres } from '../platform/postgres.ts'
import type { Providers } from '../providers/port/provider.ts'
import { dispatchRecordings } from '../transcription-tasks/lifecycle/dispatch-recordings.ts'
import { carriedTranscriptions } from '../transcription-tasks/lifecycle/transcribe-recording.ts'
import { pollJobsName } from '../videos/polling/poll-jobs.ts'
import { carriedVideos, findQueuedProviders } from '../videos/queue/carried-task-store.ts'
import { dispatchVideosName } from '../videos/queue/dispatch-videos.ts'
import { shardKey } from '../videos/shard.ts'
import { deliverWebhooksName } from '../webhooks/deliveries/deliver-webhooks.ts'
import { findOverdueEndpoints } from '../webhooks/deliveries/delivery-store.ts'
import { connectMigrated, connectProviders } from './connect.ts'

const webhookOverdueMs = 10_000

/**
 * One dispatcher per provider, also of removed ones for which tasks wait, one poller per shard of a provider, the dispatcher
 * of recordings, the endpoints of webhooks that wait for a delivery, and all open tasks.
 */
export const engineWork = (providers: Providers, postgres: Postgres): Omit<CheckDependencies, 'engine'> => ({
  loops: async () => {
    const known = providers.known()
    const names = new Set([...known.map(({ name }) => name), ...(await findQueuedProviders(postgres))])
    return [
      ...[...names].map((key) => ({ loop: dispatchVideosName, key })),
      ...known.flatMap(({ name, shards }) =>
        Array.from({ length: shards }, (_, shard) => ({ loop: pollJobsName, key: shardKey(name, shard) })),
      ),
      dispatchRecordings,
      ...(await findOverdueEndpoints(postgres, deliverWebhooksName, webhookOverdueMs)),
    ]
  },
  carried: [carriedVideos(postgres), carriedTranscriptions(postgres)],
})

export const runEngineCheck = async (config: Config, log: Log): Promise<EngineCheck> => {
  const postgres = await connectMigrated(config, log, { connectionsMax: 2 })
  const { liveConfig, providers } = await connectProviders(config, postgres, log)
  const engine = connectEngine(
    { ingressUrls: config.RESTATE_INGRESS_URL, adminUrls: config.RESTATE_ADMIN_URL },
    log,
  )
  try {
    return await checkEngine({ engine, ...engineWork(providers, withLongStatements(postgres)) })
  } finally {
    await engine.close()
    await liveConfig.stop()
    await postgres.close()
  }
}
