/** The config of a provider: the settings common to all providers, and those of its protocol. */
import { Type, type Static } from 'typebox'

import { Secret } from '../platform/secret.ts'
import { didYouMean } from '../platform/text/nearest-name.ts'
import type { Protocol } from '../providers/kit/protocol.ts'
import type { ProviderConfig } from './config.ts'
import { isMapping, validateConfig, type Problem } from './validate-config.ts'

const wholeNumber = (minimum: number, maximum: number, fallback: number, description: string) =>
  Type.Integer({ minimum, maximum, default: fallback, description })

export const providerConfigSchema = Type.Object({
  kind: Type.String({
    minLength: 1,
    'x-demand': 'one of the known kinds',
    description: 'The protocol of the provider.',
  }),
  baseUrl: Type.Optional(
    Type.String({
      minLength: 1,
      'x-demand': 'a URL such as https://api.example.com/v1',
      description: "The base URL of its API. Default: the kind's own URL, if it has one.",
    }),
  ),
  apiKey: Type.Optional(
    Type.String({
      minLength: 1,
      'x-secret': true,
      description: 'The API key. Write `${env:NAME}` or `${file:/path}` instead of the key itself.',
    }),
  ),
  enabled: Type.Boolean({
    default: true,
    description: 'Whether it accepts new jobs. A disabled provider finishes the jobs it has.',
  }),
  slots: wholeNumber(1, 100_000, 100, 'Jobs it may have in flight at once.'),
  shards: wholeNumber(1, 64, 1, 'Number of loops that poll its jobs.'),
  pollIntervalMsMin: wholeNumber(1, 600_000, 2_000, 'The shortest time between two polls of a job.'),
  pollIntervalMsMax: wholeNumber(1, 600_000, 15_000, 'The longest time between two polls of a job.'),
  submitTimeoutMs: wholeNumber(100, 60_000, 60_000, 'Timeout of submitting a job.'),
  pollTimeoutMs: wholeNumber(100, 60_000, 15_000, 'Timeout of polling a job.'),
  // The engine aborts and repeats a step after 15 minutes, so a download must end before.
  downloadTimeoutMs: wholeNumber(1_000, 840_000, 600_000, 'Timeout of downloading a result.'),
  concurrency: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 10_000,
      description:
        'Synchronous calls (speech, transcription, translation, audio chat) that each API process may have in flight. An account uses at most half of them. Default: 8 for local, otherwise connections.',
    }),
  ),
  connections: wholeNumber(1, 10_000, 64, 'Connections that each process may open to one origin of it.'),
  traceparent: Type.Boolean({
    default: false,
    description:
      'Whether calls have the W3C header `traceparent` with the ids of their trace, if traces are on. Only for a provider whose operator shares your traces.',
  }),
  resultOrigins: Type.Array(
    Type.String({ minLength: 1, 'x-demand': 'an origin such as http://10.0.0.7:9000' }),
    {
      default: [],
      description: 'Origins with private addresses that results may be downloaded from.',
    },
  ),
  budgetPerDayMicros: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description:
        'What it may cost per UTC day, in millionths of CURRENCY ([budgets](billing.md#budgets-of-providers)). Default: any amount.',
    }),
  ),
  budgetAlertPercent: wholeNumber(1, 100, 80, 'The share of the budget from which on operators are warned.'),
  budgetStops: Type.Boolean({
    default: false,
    description: 'Whether it gets no new work for the rest of the day once the budget is reached.',
  }),
})

const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

/** Refuses credentials in URLs, because base URLs are shown to operators and in logs. */
const parseWebUrl = (text: string): URL | undefined => {
  const url = URL.parse(text)
  const isWeb = url?.protocol === 'http:' || url?.protocol === 'https:'
  return isWeb && url.username === '' && url.password === '' ? url : undefined
}

export const toProviderConfig = (
  name: string,
  values: Static<typeof providerConfigSchema>,
  baseUrl: string,
  protocolSettings: Record<string, unknown>,
  defaultConcurrency: number = values.connections,
): ProviderConfig => ({
  name,
  kind: values.kind,
  baseUrl: baseUrl.replace(/\/+$/, ''),
  apiKey: values.apiKey === undefined ? undefined : new Secret(values.apiKey),
  isEnabled: values.enabled,
  slots: values.slots,
  shards: values.shards,
  pollIntervalMs: { least: values.pollIntervalMsMin, most: values.pollIntervalMsMax },
  timeoutsMs: {
    submit: values.submitTimeoutMs,
    poll: values.pollTimeoutMs,
    download: values.downloadTimeoutMs,
  },
  concurrency: values.concurrency ?? defaultConcurrency,
  connections: values.connections,
  traceparent: values.traceparent,
  resultOrigins: values.resultOrigins.map((origin) => parseWebUrl(origin)?.origin ?? origin),
  budget:
    values.budgetPerDayMicros === undefined
      ? undefined
      : {
          micros: values.budgetPerDayMicros,
          alertPercent: values.budgetAlertPercent,
          alertMicros: Math.ceil((values.budgetPerDayMicros / 100) * values.budgetAlertPercent),
          stops: values.budgetStops,
        },
  protocolSettings,
})

const schemaFor = (protocol: Protocol | undefined) =>
  Type.Object(
    { ...providerConfigSchema.properties, ...protocol?.settings.properties },
    { additionalProperties: false },
  )

const schemaOfUnknown = schemaFor(undefined)
const schemasOfKinds = new WeakMap<object, ReturnType<typeof schemaFor>>()

/** The settings of a provider with this protocol. */
const schemaOf = (protocol: Protocol | undefined) => {
  if (protocol === undefined) return schemaOfUnknown
  const schema = schemasOfKinds.get(protocol.settings) ?? schemaFor(protocol)
  schemasOfKinds.set(protocol.settings, schema)
  return schema
}

/** Returns a provider's config, or all problems with it. `written` is the config before secrets were filled in. */
export const parseProviderConfig = (
  name: string,
  raw: unknown,
  protocols: Record<string, Protocol>,
  written: unknown = raw,
): { config: ProviderConfig; problems: [] } | { config: undefined; problems: Problem[] } => {
  const kinds = Object.keys(protocols)
  const kind = isMapping(raw) ? String(raw['kind']) : ''
  const protocol = Object.hasOwn(protocols, kind) ? protocols[kind] : undefined
  const common = providerConfigSchema.properties
  const { values, problems: found } = validateConfig(schemaOf(protocol), raw, written)
  // The settings of an unknown kind are unknown too.
  const problems = found.filter(
    ({ path: [setting] }) => protocol !== undefined || setting === undefined || setting in common,
  )
  const report = (path: Problem['path'], message: string) => problems.push({ path, message })

  if (!namePattern.test(name)) {
    report([], 'must have a name of at most 64 letters, digits, dots, dashes and underscores')
  }
  if (protocol === undefined && values.kind !== undefined) {
    report(['kind'], `must be one of ${kinds.join(', ')}, not "${kind}"${didYouMean(kind, kinds)}`)
  }
  const baseUrl = values.baseUrl ?? protocol?.defaultBaseUrl
  if (values.baseUrl !== undefined && parseWebUrl(values.baseUrl) === undefined) {
    const given = isMapping(written) ? JSON.stringify(written['baseUrl']) : ''
    report(['baseUrl'], `must be a URL such as https://api.example.com/v1, not ${given}`)
  } else if (baseUrl === undefined && protocol !== undefined && isMapping(raw)) {
    report(['baseUrl'], `is required: ${kind} has no default URL`)
  }
  for (const [index, origin] of (values.resultOrigins ?? []).entries()) {
    if (parseWebUrl(origin)?.origin !== origin.replace(/\/$/, '')) {
      report(['resultOrigins', index], `must be an origin such as http://10.0.0.7:9000, not "${origin}"`)
    }
  }
  if (values.pollIntervalMsMax < values.pollIntervalMsMin) {
    report(['pollIntervalMsMax'], `must be at least pollIntervalMsMin, ${values.pollIntervalMsMin}`)
  }
  if (values.budgetStops && isMapping(raw) && !('budgetPerDayMicros' in raw)) {
    report(['budgetStops'], 'needs budgetPerDayMicros, the amount at which to stop')
  }
  if (problems.length > 0 || baseUrl === undefined || protocol === undefined) {
    return { config: undefined, problems }
  }
  const protocolSettings = Object.fromEntries(
    Object.keys(protocol.settings.properties).flatMap((setting) =>
      setting in values ? [[setting, (values as Record<string, unknown>)[setting]]] : [],
    ),
  )
  const config = toProviderConfig(name, values, baseUrl, protocolSettings, protocol.concurrency)
  return { config, problems: [] }
}
