import type { Provider } from '@kinora/contract/operations/admin/providers'

import { hintOf } from '../../auth/key-text.ts'
import type { Secret } from '../../platform/secret.ts'
import type { ProviderConfig } from '../../provider-config/config.ts'
import { snakeCase } from '../settings/setting-names.ts'

/** The end of a short key would reveal too much of it. */
const hiddenBelow = 12

export const credentialHintOf = (apiKey: Secret): string => {
  const text = apiKey.reveal()
  return text.length < hiddenBelow ? '…' : hintOf(text)
}

type Configured = Omit<
  Provider,
  | 'source'
  | 'is_removed'
  | 'problem'
  | 'models'
  | 'spend'
  | 'currency'
  | 'tasks_in_flight'
  | 'tasks_waiting'
  | 'duration_mismatches'
  | 'updated_at'
>

/** The configuration of a provider. Of its key, only the hint is shown. */
export const presentProviderConfig = (
  settings: ProviderConfig,
  credentialHint: string | null,
): Configured => ({
  name: settings.name,
  object: 'provider',
  kind: settings.kind,
  base_url: settings.baseUrl,
  enabled: settings.isEnabled,
  slots: settings.slots,
  shards: settings.shards,
  poll_interval_ms_min: settings.pollIntervalMs.least,
  poll_interval_ms_max: settings.pollIntervalMs.most,
  submit_timeout_ms: settings.timeoutsMs.submit,
  poll_timeout_ms: settings.timeoutsMs.poll,
  download_timeout_ms: settings.timeoutsMs.download,
  concurrency: settings.concurrency,
  connections: settings.connections,
  traceparent: settings.traceparent,
  result_origins: settings.resultOrigins,
  budget_per_day_micros: settings.budget?.micros ?? null,
  budget_alert_percent: settings.budget?.alertPercent ?? 80,
  budget_stops: settings.budget?.stops ?? false,
  settings: Object.fromEntries(
    Object.entries(settings.protocolSettings).map(([name, value]) => [snakeCase(name), value]),
  ),
  credential_hint: credentialHint,
})
