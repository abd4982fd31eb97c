/** What may be set up about a provider: the settings that all have, and beside them those of its protocol. */
import { Type, type Static } from 'typebox'

import { Secret } from '../platform/secret.ts'
import type { Protocol } from '../providers/kit/protocol.ts'
import { isEntry, readConfigEntry, type Problem } from './config-reader.ts'
import type { ProviderSettings } from './config.ts'
import { didYouMean } from './nearest-name.ts'

const wholeNumber = (minimum: number, maximum: number, fallback: number, description: string) =>
  Type.Integer({ minimum, maximum, default: fallback, description })

export const commonProviderSettings = Type.Object({
  kind: Type.String({ 'x-demand': 'one of the kinds there are', description: 'The protocol it speaks.' }),
  baseUrl: Type.Optional(
    Type.String({
      'x-demand': 'an address such as https://api.example.com/v1',
      description: "Where it is reached. Default: its kind's own address, where it has one.",
    }),
  ),
  apiKey: Type.Optional(
    Type.String({
      'x-secret': true,
      description: 'The key it is asked with. Write `${env:NAME}` or `${file:/path}` instead of the key.',
    }),
  ),
  enabled: Type.Boolean({
    default: true,
    description: 'Whether it takes new work; one that does not finishes what it has.',
  }),
  slots: wholeNumber(1, 100_000, 100, 'Jobs it may have in flight at once.'),
  shards: wholeNumber(1, 64, 1, 'Loops that its jobs are spread over for being checked.'),
  pollIntervalMsMin: wholeNumber(1, 600_000, 2_000, 'The shortest time between two checks of a job.'),
  pollIntervalMsMax: wholeNumber(1, 600_000, 15_000, 'The longest time between two checks of a job.'),
  // A submit that is silent for longer is taken for lost and handed to another worker.
  submitTimeoutMs: wholeNumber(100, 60_000, 60_000, 'How long it may take to accept a job.'),
  pollTimeoutMs: wholeNumber(100, 60_000, 15_000, 'How long it may take to say how a job stands.'),
  downloadTimeoutMs: wholeNumber(1_000, 3_600_000, 600_000, 'How long copying a result may take.'),
  connections: wholeNumber(1, 10_000, 64, 'Connections that each process may open to one of its addresses.'),
  resultOrigins: Type.Array(Type.String({ 'x-demand': 'an origin such as http://10.0.0.7:9000' }), {
    default: [],
    description: 'Origins its results may be fetched from although their addresses are private.',
  }),
})

const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

/** An address with a password in it would show that wherever it is shown. */
const webAddress = (text: string): URL | undefined => {
  const url = URL.parse(text)
  const isWeb = url?.protocol === 'http:' || url?.protocol === 'https:'
  return isWeb && url.username === '' && url.password === '' ? url : undefined
}

export const settingsFrom = (
  name: string,
  values: Static<typeof commonProviderSettings>,
  baseUrl: string,
  own: Record<string, unknown>,
): ProviderSettings => ({
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
  connections: values.connections,
  resultOrigins: values.resultOrigins.map((origin) => webAddress(origin)?.origin ?? origin),
  own,
})

/**
 * A provider's settings, or all that is wrong with the entry. `written` is the entry as somebody wrote it, where secrets
 * have been put into `entry` since.
 */
export const parseProviderConfig = (
  name: string,
  entry: unknown,
  protocols: Record<string, Protocol>,
  written: unknown = entry,
): { settings: ProviderSettings; problems: [] } | { settings: undefined; problems: Problem[] } => {
  const kinds = Object.keys(protocols)
  const kind = isEntry(entry) ? String(entry['kind']) : ''
  const protocol = Object.hasOwn(protocols, kind) ? protocols[kind] : undefined
  const common = commonProviderSettings.properties
  const { values, problems: found } = readConfigEntry(
    Type.Object({ ...common, ...protocol?.settings.properties }),
    entry,
    written,
  )
  // Of a kind nobody knows it cannot be said which settings it has.
  const problems = found.filter(
    ({ path: [setting] }) => protocol !== undefined || setting === undefined || setting in common,
  )
  const complain = (path: Problem['path'], message: string) => problems.push({ path, message })

  if (!namePattern.test(name)) {
    complain([], 'must be named with letters, digits, dots, dashes and underscores, 64 of them at most')
  }
  if (protocol === undefined && values.kind !== undefined) {
    complain(['kind'], `must be one of ${kinds.join(', ')}, not "${kind}"${didYouMean(kind, kinds)}`)
  }
  const baseUrl = values.baseUrl ?? protocol?.defaultBaseUrl
  if (values.baseUrl !== undefined && webAddress(values.baseUrl) === undefined) {
    const given = isEntry(written) ? JSON.stringify(written['baseUrl']) : ''
    complain(['baseUrl'], `must be an address such as https://api.example.com/v1, not ${given}`)
  } else if (baseUrl === undefined && protocol !== undefined && isEntry(entry)) {
    complain(['baseUrl'], `is required: ${kind} is spoken in many places`)
  }
  for (const [index, origin] of (values.resultOrigins ?? []).entries()) {
    if (webAddress(origin)?.origin !== origin.replace(/\/$/, '')) {
      complain(['resultOrigins', index], `must be an origin such as http://10.0.0.7:9000, not "${origin}"`)
    }
  }
  if (values.pollIntervalMsMax < values.pollIntervalMsMin) {
    complain(['pollIntervalMsMax'], `must not be less than pollIntervalMsMin, ${values.pollIntervalMsMin}`)
  }
  if (problems.length > 0 || baseUrl === undefined || protocol === undefined) {
    return { settings: undefined, problems }
  }
  const own = Object.fromEntries(
    Object.keys(protocol.settings.properties).flatMap((setting) =>
      setting in values ? [[setting, (values as Record<string, unknown>)[setting]]] : [],
    ),
  )
  return { settings: settingsFrom(name, values, baseUrl, own), problems: [] }
}
