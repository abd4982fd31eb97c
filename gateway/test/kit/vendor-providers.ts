/** The simulated vendor as the only provider, for a test that needs no gateway around it. */
import type { Vendor } from '../../../dev/vendor/vendor.ts'
import { createLog } from '../../src/platform/log.ts'
import type { Postgres } from '../../src/platform/postgres.ts'
import { Secret } from '../../src/platform/secret.ts'
import type { LiveConfig, ProviderSettings } from '../../src/provider-config/config.ts'
import type { Providers } from '../../src/providers/port/provider.ts'
import { createProviders } from '../../src/providers/registry.ts'
import { createRouter } from '../../src/routing/router.ts'

/** Settings of a provider at a vendor's address, where a test says no other. */
export const settingsAt = (
  baseUrl: string,
  apiKey: string,
  given: Partial<ProviderSettings> = {},
): ProviderSettings => ({
  name: 'vendor',
  kind: 'openai',
  baseUrl,
  apiKey: new Secret(apiKey),
  isEnabled: true,
  slots: 1,
  shards: 1,
  pollIntervalMs: { least: 1, most: 1 },
  timeoutsMs: { submit: 10_000, poll: 5_000, download: 60_000 },
  connections: 64,
  resultOrigins: [],
  own: { idempotentSubmits: true, lookup: false },
  ...given,
})

export const vendorProviders = (vendor: Pick<Vendor, 'url'>, apiKey: string): Providers =>
  createProviders(providerConfigAt(vendor, apiKey), { ffmpegPath: 'ffmpeg' })

const providerConfigAt = ({ url }: Pick<Vendor, 'url'>, apiKey: string): LiveConfig => {
  const providerConfig = { providers: [settingsAt(url, apiKey)], models: {} }
  return { current: () => providerConfig, onChange: () => () => {} }
}

/** A router that leads to it, whatever the model. */
export const vendorRouter = (vendor: Pick<Vendor, 'url'>, apiKey: string, postgres: Postgres) => {
  const providerConfig = providerConfigAt(vendor, apiKey)
  const providers = createProviders(providerConfig, { ffmpegPath: 'ffmpeg' })
  return createRouter({ providerConfig, providers, postgres, log: createLog({ level: 'silent' }, 'test') })
}
