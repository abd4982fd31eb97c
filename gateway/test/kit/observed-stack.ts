/** A stack with proxies between its processes and what they change, the database and the vendor. */
import { startVendor } from '../../../dev/vendor/vendor.ts'
import { createDatabase } from './database.ts'
import { createEffectHolds, type EffectHolds } from './effect-holds.ts'
import { startPostgresEffects } from './postgres-effects.ts'
import { startStack, type Stack } from './stack.ts'
import { startVendorEffects } from './vendor-effects.ts'

export interface ObservedStack extends AsyncDisposable {
  stack: Stack
  holds: { api: EffectHolds; worker: EffectHolds }
}

type Providers = Record<string, object>

/** The providers differ in the given settings. The first one serves every model without another provider. */
export const startObservedStack = async (
  settings: Providers,
  models: Record<string, { provider: string }> = {},
): Promise<ObservedStack> => {
  const apiKey = 'vendor-key-of-tests'
  // Disposed at the end of this function, unless everything has started.
  await using parts = new AsyncDisposableStack()
  const database = parts.use(await createDatabase())
  const vendor = await startVendor({ apiKey, durationMs: 100 })
  parts.defer(() => vendor.close())
  const holds = { api: createEffectHolds(), worker: createEffectHolds() }
  const ofApi = parts.use(await startPostgresEffects(database.url, holds.api))
  const ofWorker = parts.use(await startPostgresEffects(database.url, holds.worker))
  // The API process calls the vendor only to cancel jobs.
  const { url: baseUrl } = parts.use(await startVendorEffects(vendor.url, holds.worker))
  const provider = {
    ...{ kind: 'openai', baseUrl, apiKey, slots: 1_000 },
    ...{ pollIntervalMsMin: 250, pollIntervalMsMax: 1_000 },
  }
  const providers = Object.fromEntries(
    Object.entries(settings).map(([name, own]) => [name, { ...provider, ...own }]),
  )
  const stack = parts.use(
    await startStack({
      existing: { database, vendor },
      routingConfig: () => ({ providers, models }),
      environment: {
        ...{ ENHANCER_URL: baseUrl, ENHANCER_API_KEY: apiKey },
        // A queue does not move while its dispatcher is held.
        OVERLOAD_QUEUE_PERCENT: '0',
      },
      roleEnvironments: {
        api: { DATABASE_URL: ofApi.url },
        // Statements that are held keep their connections.
        worker: { DATABASE_URL: ofWorker.url, DATABASE_CONNECTIONS: '40' },
      },
    }),
  )
  const started = parts.move()
  return { stack, holds, [Symbol.asyncDispose]: () => started.disposeAsync() }
}
