/**
 * The config of a model: what it is, its state, its prices and its routes. The same schema validates the models of the
 * reference (`gateway/models.yaml`), the providers file and the admin API. A later source changes single settings of an
 * earlier one, so an entry is validated after its sources are merged.
 */
import { Type, type Static, type TObject, type TProperties } from 'typebox'

import type { AliasChanges, ModelConfig, Voice } from '../models/model.ts'
import type { PriceRule } from '../models/price-rule.ts'
import { didYouMean } from '../platform/text/nearest-name.ts'
import type { ConfiguredModel } from './config.ts'
import { priceRules, problemsOfRules, rulesOf } from './price-config.ts'
import { problemsOfCosts, routesOf, routeSettings } from './route-config.ts'
import { text, wholeNumber } from './setting-types.ts'
import { isMapping, validateConfig, type Problem, type RawConfig } from './validate-config.ts'
import { replacedBy, requestsOf, videoAliasSettings, videoSettings, withAlias } from './video-config.ts'
import { voiceOf, voicesDescription, voicesSetting } from './voice-config.ts'

const endpointsOfKinds = {
  video: ['/v1/videos', '/v1/video/create', '/v1/chat/completions'],
  speech: ['/v1/audio/speech'],
  transcription: ['/v1/audio/transcriptions', '/v1/audio/translations', '/v1/audio/transcription-tasks'],
  chat: ['/v1/chat/completions'],
} as const
type Kind = keyof typeof endpointsOfKinds
const kinds = Object.keys(endpointsOfKinds) as Kind[]

const describeAliases = (names: string[]): string =>
  names.length === 0
    ? 'Under each of them it is the same.'
    : `Under a name, it can have its own ${names.map((name) => `\`${name}\``).join(', ')}; what is not set is as under its id.`

const aliasOfSpeaker = {
  voices: Type.Optional(voicesSetting('The voices under this name. Default: those of the model.')),
}

const date = (description: string) => text({ description, 'x-demand': 'a date such as 2027-01-31' })

/** The settings that models of every kind have. `ofAlias` are those that an alias can have for itself. */
const commonSettings = <OfAlias extends TProperties>(kind: Kind, ofAlias: OfAlias) => ({
  kind: Type.Enum([...kinds], {
    description:
      'What it does: `video`, `speech`, `transcription` (also translation) or `chat` (with audio).',
  }),
  description: Type.Optional(text({ description: 'One sentence for users of the API.' })),
  ownedBy: text({ default: 'kinora', description: 'The organization that offers the model.' }),
  created: Type.Optional(date('The date of its release.')),
  endpoints: Type.Optional(
    Type.Array(Type.Enum([...endpointsOfKinds[kind]] as string[]), {
      minItems: 1,
      description: `The paths that serve it: ${endpointsOfKinds[kind].map((path) => `\`${path}\``).join(', ')}. Default: all of them.`,
    }),
  ),
  aliases: Type.Optional(
    Type.Record(Type.String(), Type.Object(ofAlias, { additionalProperties: false }), {
      description: `Other names for it, such as \`{alias-1: {}}\`. ${describeAliases(Object.keys(ofAlias))}`,
    }),
  ),
  state: Type.Enum(['active', 'deprecated', 'retired'], {
    default: 'active',
    description: '`active`, `deprecated` (responses have a warning) or `retired` (requests are refused).',
  }),
  deprecationDate: Type.Optional(
    date('The date, in UTC, of the `Deprecation` header of a deprecated model. Default: that of `created`.'),
  ),
  shutdownDate: Type.Optional(date('The date, in UTC, from which on requests are refused.')),
  successor: Type.Optional(
    text({ 'x-demand': 'a model of the catalog', description: 'The model to use instead.' }),
  ),
  prices: priceRules(
    'Its prices, such as `[{unit: second, micros: 100000}]`; see [prices](#prices-and-costs).',
  ),
  ...routeSettings,
})

export const modelConfigSchemas = {
  video: Type.Object(
    {
      ...commonSettings('video', videoAliasSettings),
      ...videoSettings,
    },
    { additionalProperties: false },
  ),
  speech: Type.Object(
    {
      ...commonSettings('speech', aliasOfSpeaker),
      voices: voicesSetting(voicesDescription),
      instructions: Type.Boolean({ default: false, description: 'Whether it follows `instructions`.' }),
    },
    { additionalProperties: false },
  ),
  transcription: Type.Object(
    {
      ...commonSettings('transcription', {}),
      timestamps: Type.Boolean({
        default: true,
        description: 'Whether it can time its text. If not, JSON is the only response format.',
      }),
    },
    { additionalProperties: false },
  ),
  chat: Type.Object(
    {
      ...commonSettings('chat', aliasOfSpeaker),
      voices: voicesSetting(voicesDescription),
      contextTokens: wholeNumber({ minimum: 1, description: 'Tokens that a conversation may have.' }),
      outputTokensMax: wholeNumber({ minimum: 1, description: 'Tokens that a response may have.' }),
      outputTokensDefault: wholeNumber({ minimum: 1, description: 'The default of `max_tokens`.' }),
      audioTokensPerSecond: wholeNumber({
        minimum: 1,
        default: 10,
        description: 'Tokens that a second of audio counts as.',
      }),
    },
    { additionalProperties: false },
  ),
} as const satisfies Record<Kind, TObject>

type Values<Of extends Kind> = Static<(typeof modelConfigSchemas)[Of]>

const isDate = (given: string): boolean => {
  const parsed = new Date(`${given}T00:00:00Z`)
  return !Number.isNaN(parsed.getTime()) && parsed.toISOString().slice(0, 10) === given
}

type Report = (path: Problem['path'], message: string) => void

type Common = Pick<ConfiguredModel, 'id' | 'priceSource' | 'routes'>

const commonOf = ({ id, priceSource }: Common, values: Values<Kind>) => ({
  id,
  name: id,
  priceSource,
  prices: rulesOf(values.prices),
  description: values.description,
  ownedBy: values.ownedBy,
  created: values.created === undefined ? 0 : Date.parse(`${values.created}T00:00:00Z`) / 1_000,
  endpoints: values.endpoints ?? [...endpointsOfKinds[values.kind]],
  state: values.state,
  deprecationDate: values.deprecationDate,
  shutdownDate: values.shutdownDate,
  successor: values.successor,
})

const voicesOf = (given: Values<'speech'>['voices'], path: Problem['path'], report: Report): Voice[] => {
  const voices = given.map(voiceOf)
  const names = voices.map(({ name }) => name)
  for (const [index, name] of names.entries()) {
    if (names.indexOf(name) < index) {
      report([...path, index], `is "${name}", which the list already has: remove one of them`)
    }
  }
  return voices
}

/** What is different under each alias. */
const aliasesOf = <Settings>(
  aliases: Record<string, Settings> | undefined,
  changesOf: (alias: Settings, name: string) => AliasChanges,
): ModelConfig['aliases'] =>
  Object.fromEntries(Object.entries(aliases ?? {}).map(([name, alias]) => [name, changesOf(alias, name)]))

const voicesOfAliases = ({ aliases }: Values<'speech' | 'chat'>, report: Report): ModelConfig['aliases'] =>
  aliasesOf(aliases, ({ voices }, name) =>
    voices === undefined ? {} : { voices: voicesOf(voices, ['aliases', name, 'voices'], report) },
  )

const videoModelOf = (of: Common, values: Values<'video'>, report: Report): ModelConfig => {
  const { endpoints, ...common } = commonOf(of, values)
  return {
    ...common,
    ...requestsOf(values, endpoints, of.routes, report),
    kind: 'video',
    endpoints,
    aliases: aliasesOf(values.aliases, (alias, name) =>
      Object.keys(alias).length === 0
        ? {}
        : requestsOf(withAlias(values, alias), endpoints, of.routes, (path, message) =>
            report(['aliases', name, ...path], message),
          ),
    ),
    family: values.family,
    aspectRatios: values.aspectRatios ?? [],
    sound: values.sound,
    usualSeconds: values.usualSeconds,
  }
}

const chatModelOf = (of: Common, values: Values<'chat'>, report: Report): ModelConfig => ({
  ...commonOf(of, values),
  kind: 'chat',
  aliases: voicesOfAliases(values, report),
  voices: voicesOf(values.voices, ['voices'], report),
  contextTokens: values.contextTokens,
  outputTokensMax: values.outputTokensMax,
  outputTokensDefault: values.outputTokensDefault,
  audioTokensPerSecond: values.audioTokensPerSecond,
})

const speechModelOf = (of: Common, values: Values<'speech'>, report: Report): ModelConfig => ({
  ...commonOf(of, values),
  kind: 'speech',
  aliases: voicesOfAliases(values, report),
  voices: voicesOf(values.voices, ['voices'], report),
  followsInstructions: values.instructions,
})

const modelOf = (of: Common, values: Values<Kind>, report: Report): ModelConfig => {
  switch (values.kind) {
    case 'video':
      return videoModelOf(of, values as Values<'video'>, report)
    case 'speech':
      return speechModelOf(of, values as Values<'speech'>, report)
    case 'transcription': {
      const { timestamps, aliases } = values as Values<'transcription'>
      const common = { ...commonOf(of, values), aliases: aliasesOf(aliases, () => ({})) }
      return { ...common, kind: 'transcription', hasTimestamps: timestamps }
    }
    case 'chat':
      return chatModelOf(of, values as Values<'chat'>, report)
  }
}

const routeNames = Object.keys(routeSettings)

/** The settings of a model from an earlier source, changed by those of a later one. Routes are replaced as a whole. */
export const mergeModel = (earlier: RawConfig | undefined, later: unknown): unknown => {
  if (earlier === undefined || !isMapping(later)) return later ?? earlier
  const changes = Object.entries(later).filter(([, value]) => value !== null)
  const hasRoutes = changes.some(([name]) => routeNames.includes(name))
  const replaced = [...replacedBy(later), ...(hasRoutes ? routeNames : [])]
  const kept = Object.entries(earlier).filter(([name]) => !replaced.includes(name))
  return Object.fromEntries([...kept, ...changes])
}

/** Names occur in URLs and in the ids of tasks. */
const isName = (name: string): boolean => /^[A-Za-z0-9][\w.-]{0,99}$/.test(name)
const nameRule = 'at most 100 letters, digits, dots, dashes and underscores'

const isKind = (kind: unknown): kind is Kind => kinds.some((each) => each === kind)

/** What a model's config may refer to. */
export interface ModelContext {
  /** The names of providers that routes may use. */
  providers: string[]
  knownModels: Set<string>
  priceSource: ModelConfig['priceSource']
}

/** Whether a source of a model's config sets its prices. */
export const setsPrices = (raw: unknown): boolean => isMapping(raw) && 'prices' in raw

const problemsOfPrices = (kind: Kind, prices: PriceRule[]): Problem[] =>
  problemsOfRules(prices, kind, { isComplete: true }).map(({ path, message }) => ({
    path: ['prices', ...path],
    message,
  }))

/** Returns a model with its routes, or all problems of its merged config. */
export const parseModelConfig = (
  id: string,
  raw: unknown,
  { providers, knownModels, priceSource }: ModelContext,
): { config: ConfiguredModel; problems: [] } | { config: undefined; problems: Problem[] } => {
  const kind = isMapping(raw) ? raw['kind'] : undefined
  if (!isKind(kind)) {
    const others = [...knownModels].filter((each) => each !== id)
    const message =
      kind === undefined
        ? `is not a model of the catalog${didYouMean(id, others)}; to add it, set its kind: ${kinds.join(', ')}`
        : `must be one of ${kinds.join(', ')}, not ${JSON.stringify(kind)}`
    return { config: undefined, problems: [{ path: kind === undefined ? [] : ['kind'], message }] }
  }
  const { values, problems } = validateConfig(modelConfigSchemas[kind] as TObject, raw) as {
    values: Values<Kind>
    problems: Problem[]
  }
  const report: Report = (path, message) => problems.push({ path, message })
  if (!isName(id)) report([], `must have an id of ${nameRule}`)
  for (const alias of Object.keys(values.aliases ?? {})) {
    if (!isName(alias)) report(['aliases', alias], `must be a name of ${nameRule}`)
  }
  const { successor } = values
  if (successor === id) report(['successor'], 'must be another model, not the model itself')
  if (successor !== undefined && !knownModels.has(successor)) {
    const known = [...knownModels]
    report(['successor'], `must be a model of the catalog, not "${successor}"${didYouMean(successor, known)}`)
  }
  for (const name of ['created', 'deprecationDate', 'shutdownDate'] as const) {
    const given = values[name]
    if (given !== undefined && !isDate(given)) {
      report([name], `must be a date such as 2027-01-31, not "${given}"`)
    }
  }
  const { routes, problems: ofRoutes } = routesOf(id, values, raw, providers)
  problems.push(...ofRoutes)
  if (problems.length === 0) {
    problems.push(...problemsOfPrices(kind, rulesOf(values.prices)), ...problemsOfCosts(kind, routes))
  }
  if (problems.length > 0) return { config: undefined, problems }
  const model = modelOf({ id, priceSource, routes }, values, report)
  return problems.length > 0
    ? { config: undefined, problems }
    : { config: { ...model, routes }, problems: [] }
}
