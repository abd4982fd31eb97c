/** The simulated vendor as the only provider, for tests without a gateway. */
import type { Vendor } from '../../../dev/vendor/vendor.ts'
import { createLog } from '../../src/platform/log.ts'
import type { Postgres } from '../../src/platform/postgres.ts'
import { Secret } from '../../src/platform/secret.ts'
import type { LiveConfig, ProviderConfig } from '../../src/provider-config/config.ts'
import type { Providers } from '../../src/providers/port/provider.ts'
import { createProviders } from '../../src/providers/registry.ts'
import { createRouter } from '../../src/routing/router.ts'

/** A provider config with the base URL of a vendor. */
export const providerConfigAt = (
  baseUrl: string,
  apiKey: string,
  given: Partial<ProviderConfig> = {},
): ProviderConfig => ({
  name: 'vendor',
  kind: 'openai',
  baseUrl,
  apiKey: new Secret(apiKey),
  isEnabled: true,
  slots: 1,
  shards: 1,
  pollIntervalMs: { least: 1, most: 1 },
  timeoutsMs: { submit: 10_000, poll: 5_000, download: 60_000 },
  concurrency: 64,
  connections: 64,
  traceparent: false,
  resultOrigins: [],
  protocolSettings: { idempotentSubmits: true, lookup: false },
  ...given,
})

export const vendorProviders = (vendor: Pick<Vendor, 'url'>, apiKey: string): Providers =>
  createProviders(liveConfigAt(vendor, apiKey), { ffmpegPath: 'ffmpeg' })

const liveConfigAt = ({ url }: Pick<Vendor, 'url'>, apiKey: string): LiveConfig => {
  const config = { providers: [providerConfigAt(url, apiKey)], models: {} }
  return { current: () => config, onChange: () => () => {} }
}

/** A router that sends every model to the vendor. */
export const vendorRouter = (vendor: Pick<Vendor, 'url'>, apiKey: string, postgres: Postgres) => {
  const liveConfig = liveConfigAt(vendor, apiKey)
  const providers = createProviders(liveConfig, { ffmpegPath: 'ffmpeg' })
  return createRouter({ liveConfig, providers, postgres, log: createLog({ level: 'silent' }, 'test') })
}
