/**
 * The config of a model: what it is, its state, its prices and its routes. The same schema validates the models of the
 * reference (`gateway/models.yaml`), the providers file and the admin API. A later source changes single settings of an
 * earlier one, so an entry is validated after its sources are merged.
 */
import { imageRoles } from '@kinora/contract/operations/video-fields'
import { Type, type Static, type TObject } from 'typebox'

import type { ModelConfig, VideoModel } from '../models/model.ts'
import type { PriceRule } from '../models/price-rule.ts'
import { didYouMean } from '../platform/nearest-name.ts'
import type { ConfiguredModel } from './config.ts'
import { priceRules, problemsOfRules, rulesOf } from './price-config.ts'
import { problemsOfCosts, routesOf, routeSettings, size } from './route-config.ts'
import { text, wholeNumber } from './setting-types.ts'
import { isMapping, validateConfig, type Problem, type RawConfig } from './validate-config.ts'
import { voiceOf, voicesDescription, voicesSetting } from './voice-config.ts'

const endpointsOfKinds = {
  video: ['/v1/videos', '/v1/video/create', '/v1/chat/completions'],
  speech: ['/v1/audio/speech'],
  transcription: ['/v1/audio/transcriptions', '/v1/audio/translations', '/v1/audio/transcription-tasks'],
  chat: ['/v1/chat/completions'],
} as const
type Kind = keyof typeof endpointsOfKinds
const kinds = Object.keys(endpointsOfKinds) as Kind[]

const date = (description: string) => text({ description, 'x-demand': 'a date such as 2027-01-31' })

/** The settings that models of every kind have. */
const commonSettings = (kind: Kind) => ({
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
    Type.Record(
      Type.String(),
      Type.Object(
        { voices: Type.Optional(voicesSetting('The voices under this name. Default: those of the model.')) },
        { additionalProperties: false },
      ),
      { description: 'Other names for it, such as `{sora-2: {}}`.' },
    ),
  ),
  state: Type.Enum(['active', 'deprecated', 'retired'], {
    default: 'active',
    description: '`active`, `deprecated` (responses have a warning) or `retired` (requests are refused).',
  }),
  shutdownDate: Type.Optional(date('The date, in UTC, from which on requests are refused.')),
  successor: Type.Optional(
    text({ 'x-demand': 'a model of the catalog', description: 'The model to use instead.' }),
  ),
  prices: priceRules(
    'Its prices, such as `[{unit: second, micros: 100000}]`; see [prices](#prices-and-costs).',
  ),
  ...routeSettings,
})

const durations = (description: string) =>
  Type.Optional(Type.Array(wholeNumber({ minimum: 1, maximum: 3_600 }), { minItems: 1, description }))

export const modelConfigSchemas = {
  video: Type.Object(
    {
      ...commonSettings('video'),
      family: Type.Enum(['A', 'B'], {
        description: 'The parameters of its requests and the form of its responses: those of family A or B.',
      }),
      seconds: durations('The durations at `POST /v1/videos`, such as `[4, 8, 12]`.'),
      secondsMin: Type.Optional(
        wholeNumber({
          minimum: 1,
          description: 'With `secondsMax`, instead of `seconds`: every duration from here.',
        }),
      ),
      secondsMax: Type.Optional(
        wholeNumber({ minimum: 1, maximum: 3_600, description: 'The longest duration, with `secondsMin`.' }),
      ),
      durations: durations(
        'The durations at `POST /v1/video/create`, the default one first, which is also that of chats. Default: `seconds`.',
      ),
      sizes: Type.Optional(
        Type.Array(Type.String({ minLength: 1, maxLength: 40 }), {
          minItems: 1,
          description: 'The values of `size` at `POST /v1/videos`, such as `[1280x720]`.',
        }),
      ),
      sizeNames: Type.Optional(
        Type.Record(Type.String(), size, {
          description: 'The width and height of sizes that are only names, such as `{16x9: 1280x720}`.',
        }),
      ),
      aspectRatios: Type.Optional(
        Type.Array(Type.Enum(['16:9', '9:16']), {
          minItems: 1,
          description:
            'The values of `aspect_ratio` at `POST /v1/video/create` in family A. Default: no such parameter.',
        }),
      ),
      images: wholeNumber({
        minimum: 0,
        maximum: 20,
        default: 1,
        description: 'Reference images that a request may have.',
      }),
      imageRoles: Type.Array(Type.Enum([...imageRoles]), {
        minItems: 1,
        default: ['style'],
        description:
          'How the images are used: `first_frame`, `last_frame`, `reference` (shown in the video) or `style`. The first image has the first role, and so on; the last role is that of all others. With several roles, requests may choose.',
      }),
      referenceVideo: Type.Boolean({
        default: false,
        description: 'Whether a request may have a reference video, as `reference_video`.',
      }),
      referenceAudio: Type.Boolean({
        default: false,
        description: 'Whether a request may have a reference audio, as `reference_audio`.',
      }),
      sound: Type.Enum(['always', 'never', 'optional'], {
        default: 'always',
        description:
          'Whether its videos have sound. With `optional`, requests have the parameter `sound`, and the provider is told.',
      }),
      usualSeconds: wholeNumber({
        minimum: 1,
        default: 120,
        description: 'The usual time to make a video, for estimates of progress.',
      }),
    },
    { additionalProperties: false },
  ),
  speech: Type.Object(
    {
      ...commonSettings('speech'),
      voices: voicesSetting(voicesDescription),
      instructions: Type.Boolean({ default: false, description: 'Whether it follows `instructions`.' }),
    },
    { additionalProperties: false },
  ),
  transcription: Type.Object(
    {
      ...commonSettings('transcription'),
      timestamps: Type.Boolean({
        default: true,
        description: 'Whether it can time its text. If not, JSON is the only response format.',
      }),
    },
    { additionalProperties: false },
  ),
  chat: Type.Object(
    {
      ...commonSettings('chat'),
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

const secondsOf = (values: Values<'video'>, report: Report): VideoModel['seconds'] => {
  const { seconds, secondsMin, secondsMax } = values
  if (seconds !== undefined && (secondsMin !== undefined || secondsMax !== undefined)) {
    report(['seconds'], 'cannot be combined with secondsMin and secondsMax')
  }
  if (seconds !== undefined) return seconds
  if (secondsMin === undefined && secondsMax === undefined) return []
  const [least, most] = [secondsMin ?? 1, secondsMax ?? 0]
  if (least > most) report(['secondsMax'], `must be at least secondsMin, which is ${least}`)
  return { least, most }
}

const sizesOf = ({ sizes = [], sizeNames = {} }: Values<'video'>, report: Report): VideoModel['sizes'] => {
  const names = new Map(Object.entries(sizeNames))
  return Object.fromEntries(
    sizes.map((each, index) => {
      const [width = 0, height = 0] = (names.get(each) ?? each).split('x').map(Number)
      if (!(width > 0 && height > 0)) {
        report(['sizes', index], `must be a size such as 1280x720, or have one in sizeNames, not "${each}"`)
      }
      return [each, { width, height }]
    }),
  )
}

type Common = Pick<ModelConfig, 'id' | 'priceSource'>

const commonOf = ({ id, priceSource }: Common, values: Values<Kind>) => ({
  id,
  priceSource,
  prices: rulesOf(values.prices),
  description: values.description,
  ownedBy: values.ownedBy,
  created: values.created === undefined ? 0 : Date.parse(`${values.created}T00:00:00Z`) / 1_000,
  aliases: Object.fromEntries(
    Object.entries(values.aliases ?? {}).map(([name, { voices }]) => [
      name,
      { voices: voices?.map(voiceOf) },
    ]),
  ),
  endpoints: values.endpoints ?? [...endpointsOfKinds[values.kind]],
  state: values.state,
  shutdownDate: values.shutdownDate,
  successor: values.successor,
})

const imageRolesOf = (
  { imageRoles: [first = 'style', ...others] }: Values<'video'>,
  report: Report,
): VideoModel['imageRoles'] => {
  const roles: VideoModel['imageRoles'] = [first, ...others]
  if (new Set(roles).size < roles.length) report(['imageRoles'], 'must not have a role twice')
  if (roles.includes('last_frame') && roles.indexOf('first_frame') !== roles.indexOf('last_frame') - 1) {
    report(['imageRoles'], 'must have first_frame directly before last_frame')
  }
  return roles
}

const videoModelOf = (of: Common, values: Values<'video'>, report: Report): VideoModel => {
  const common = commonOf(of, values)
  const seconds = secondsOf(values, report)
  const listed = Array.isArray(seconds) ? seconds : [seconds.least]
  const [first, ...others] = values.durations ?? listed
  if (common.endpoints.includes('/v1/videos')) {
    if (listed.length === 0)
      report(['seconds'], 'is required at /v1/videos: the durations, such as [4, 8, 12]')
    if (values.sizes === undefined)
      report(['sizes'], 'is required at /v1/videos: such as [1280x720, 720x1280]')
  } else if (first === undefined) {
    report(['durations'], 'is required: the durations, the default one first, such as [8]')
  }
  return {
    ...common,
    kind: 'video',
    family: values.family,
    seconds,
    durations: [first ?? 1, ...others],
    sizes: sizesOf(values, report),
    aspectRatios: values.aspectRatios ?? [],
    imagesMax: values.images,
    imageRoles: imageRolesOf(values, report),
    usesVideo: values.referenceVideo,
    usesAudio: values.referenceAudio,
    sound: values.sound,
    usualSeconds: values.usualSeconds,
  }
}

const chatModelOf = (of: Common, values: Values<'chat'>): ModelConfig => ({
  ...commonOf(of, values),
  kind: 'chat',
  voices: values.voices.map(voiceOf),
  contextTokens: values.contextTokens,
  outputTokensMax: values.outputTokensMax,
  outputTokensDefault: values.outputTokensDefault,
  audioTokensPerSecond: values.audioTokensPerSecond,
})

const modelOf = (of: Common, values: Values<Kind>, report: Report): ModelConfig => {
  switch (values.kind) {
    case 'video':
      return videoModelOf(of, values as Values<'video'>, report)
    case 'speech': {
      const { voices, instructions } = values as Values<'speech'>
      return {
        ...commonOf(of, values),
        kind: 'speech',
        voices: voices.map(voiceOf),
        followsInstructions: instructions,
      }
    }
    case 'transcription': {
      const { timestamps } = values as Values<'transcription'>
      return { ...commonOf(of, values), kind: 'transcription', hasTimestamps: timestamps }
    }
    case 'chat':
      return chatModelOf(of, values as Values<'chat'>)
  }
}

const routeNames = Object.keys(routeSettings)

/** The settings of a model from an earlier source, changed by those of a later one. Routes are replaced as a whole. */
export const mergeModel = (earlier: RawConfig | undefined, later: unknown): unknown => {
  if (earlier === undefined || !isMapping(later)) return later ?? earlier
  const changes = Object.entries(later).filter(([, value]) => value !== null)
  const hasRoutes = changes.some(([name]) => routeNames.includes(name))
  const kept = Object.entries(earlier).filter(([name]) => !hasRoutes || !routeNames.includes(name))
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
  if (successor !== undefined && !knownModels.has(successor)) {
    const known = [...knownModels]
    report(['successor'], `must be a model of the catalog, not "${successor}"${didYouMean(successor, known)}`)
  }
  for (const name of ['created', 'shutdownDate'] as const) {
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
  const model = modelOf({ id, priceSource }, values, report)
  return problems.length > 0
    ? { config: undefined, problems }
    : { config: { ...model, routes }, problems: [] }
}
