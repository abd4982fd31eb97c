/** The connections and shared parts that the operations of the API are built from. */
import { createWaitingCreates } from '../admission/waiting-creates.ts'
import { createMeter } from '../billing/metering/meter.ts'
import { createPriceList } from '../billing/prices/price-list.ts'
import type { Config } from '../config.ts'
import { createCatalog } from '../models/catalog.ts'
import type { Log } from '../platform/log.ts'
import { limitAborted } from '../rate-limits/limit-aborted.ts'
import { createRateLimit } from '../rate-limits/rate-limit.ts'
import { createLinkSigner } from '../storage/signed-link.ts'
import { connect, loadInstanceSettings, retentionDaysOf } from './connect.ts'
import { createOfferedModels } from './offered-models.ts'

const fetchRateWindowMs = 5_000

export type ApiContext = Awaited<ReturnType<typeof connectApi>>

export const connectApi = async (config: Config, log: Log) => {
  const connected = await connect(config, log, 'api')
  const { postgres, redis, liveConfig, catalog, router } = connected
  if (redis === undefined && (await postgres.holdLock('kinora:api-without-redis')) === undefined) {
    await router.stop()
    await liveConfig.stop()
    throw new Error(
      'Another API process runs on this database. Set REDIS_URL so that they can share rate limits.',
    )
  }
  const settings = await loadInstanceSettings(config, postgres, log)
  const rateLimit = createRateLimit(
    {
      perMinute: () => settings.current().limits,
      perAddress: config.ADMISSION_CONTROL ? config.LIMIT_ADDRESS_PER_3_MINUTES : 0,
      abortedPerMinute: config.LIMIT_ABORTED_PER_MINUTE,
    },
    redis,
  )
  const offeredModels = createOfferedModels({
    ...{ liveConfig, providers: connected.providers, log },
    offersModelsWithoutRoutes: config.OFFER_MODELS_WITHOUT_ROUTES,
  })
  // New keys are hashed with the newest secret.
  const [keySecret] = config.KEY_HASH_SECRETS
  if (keySecret === undefined) throw new Error('KEY_HASH_SECRETS must hold at least one secret.')
  // Reports the others at the start.
  offeredModels()
  return {
    ...connected,
    catalog: createCatalog(offeredModels),
    /** With the models that are not offered, for operators. */
    wholeCatalog: catalog,
    config,
    log,
    settings,
    keySecret,
    days: retentionDaysOf(settings),
    links: createLinkSigner(config.LINK_SECRETS, config.publicUrl, config.LINK_SECONDS),
    prices: await createPriceList({ postgres, catalog, log }),
    /** The minimum rate of downloads from URLs of callers. */
    fetchRate: { bytesPerSecondMin: config.LIMIT_DOWNLOAD_BYTES_PER_SECOND_MIN, windowMs: fetchRateWindowMs },
    rateLimit,
    waitingCreates: createWaitingCreates(
      {
        waitingMax: config.ADMISSION_CONTROL ? config.OVERLOAD_WAITING_CREATES || Infinity : Infinity,
        waitMs: config.OVERLOAD_CREATE_WAIT_MS || Infinity,
      },
      postgres.waiting,
    ),
    meter: limitAborted(createMeter({ postgres, log }), rateLimit, log),
  }
}
