import type { adminOperations } from '@kinora/contract/admin-operations'
import type { ProviderProtocol } from '@kinora/contract/operations/admin/provider-protocols'
import { ProviderBody } from '@kinora/contract/operations/admin/providers'

import type { Handler } from '../../http/call.ts'
import {
  describeProtocols,
  type ProtocolDescription,
  type SettingDescription,
} from '../../provider-config/describe-protocols.ts'
import { snakeCase, snakeCaseIn } from '../settings/setting-names.ts'

const labels: Record<string, string> = {
  base_url: 'Base URL',
  api_key: 'API key',
  api: 'API',
  enabled: 'Gets new jobs',
  slots: 'Jobs at once',
  shards: 'Poll loops',
  poll_interval_ms_min: 'Shortest poll interval (ms)',
  poll_interval_ms_max: 'Longest poll interval (ms)',
  submit_timeout_ms: 'Submit timeout (ms)',
  poll_timeout_ms: 'Poll timeout (ms)',
  download_timeout_ms: 'Download timeout (ms)',
  concurrency: 'Synchronous calls at once',
  connections: 'Connections per origin',
  traceparent: 'Send traceparent',
  budget_per_day_micros: 'Budget per day',
  budget_alert_percent: 'Warn at (% of the budget)',
  budget_stops: 'Stop at the budget',
  jwks_url: 'JWKS URL',
  user_id: 'User id',
  lookup: 'Look up by task id',
  idempotent_submits: 'Idempotent submits',
  answer_megabytes: 'Response size limit (MB)',
}

const labelOf = (name: string): string =>
  labels[name] ?? `${name.charAt(0).toUpperCase()}${name.slice(1).replaceAll('_', ' ')}`

/** The contract speaks of requests of this API; the schema of the configuration speaks of the providers file. */
const bodyFields = ProviderBody.properties as Record<string, { description?: string }>

const presentField = (setting: SettingDescription): ProviderProtocol['fields'][number] => {
  const name = snakeCase(setting.name)
  const help = setting.isOwn ? undefined : bodyFields[name]?.description
  return {
    name,
    in_settings: setting.isOwn,
    label: labelOf(name),
    description: help ?? snakeCaseIn(setting.description),
    required: setting.isRequired,
    secret: setting.isSecret,
    advanced: setting.isAdvanced,
    default: setting.default ?? null,
    example: setting.example ?? null,
    schema: setting.schema,
  }
}

/** What is required, and what tells this protocol apart. */
const exampleOf = ({ kind, needsKey, settings, examples = {} }: ProtocolDescription) => {
  const shown = settings.filter(({ name, isRequired }) => isRequired || Object.hasOwn(examples, name))
  const own = shown.filter(({ isOwn }) => isOwn)
  const entry = ({ name, example }: SettingDescription) => [snakeCase(name), example]
  return {
    kind,
    ...Object.fromEntries(shown.filter(({ isOwn, isSecret }) => !isOwn && !isSecret).map(entry)),
    ...(needsKey && { api_key: 'vendor-api-key' }),
    ...(own.length > 0 && { settings: Object.fromEntries(own.map(entry)) }),
  }
}

export const listProviderProtocols = ({
  protocols,
}: {
  protocols: Parameters<typeof describeProtocols>[0]
}): Handler<typeof adminOperations.listProviderProtocols> => {
  const data = describeProtocols(protocols).map((protocol): ProviderProtocol => ({
    object: 'provider.protocol',
    kind: protocol.kind,
    title: protocol.title,
    description: protocol.description,
    capabilities: protocol.capabilities,
    default_base_url: protocol.defaultBaseUrl ?? null,
    needs_key: protocol.needsKey,
    fields: protocol.settings.map(presentField),
    example: exampleOf(protocol),
  }))
  return async () => ({ body: { object: 'list', data } })
}
