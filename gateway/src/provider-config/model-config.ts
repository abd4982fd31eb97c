/** The config of a model: its state, its prices and its routes. */
import { Type, type Static } from 'typebox'

import type { ModelConfig, RouteConfig } from './config.ts'
import { didYouMean } from './nearest-name.ts'
import { isMapping, validateConfig, type Problem } from './validate-config.ts'

const wholeNumber = (options: { minimum: number; default?: number; description?: string }) =>
  Type.Integer({ maximum: Number.MAX_SAFE_INTEGER, ...options })

const text = (options: { description: string; 'x-demand'?: string }) =>
  Type.String({ minLength: 1, ...options })

const price = (of: string) =>
  Type.Optional(
    wholeNumber({
      minimum: 0,
      description: `The price of ${of}, in millionths of CURRENCY. Default: the catalog's price.`,
    }),
  )

export const routeConfigSchema = Type.Object(
  {
    provider: text({ description: 'The name of the provider that serves the model.' }),
    model: Type.Optional(
      text({ description: "The provider's own name for the model. Default: the model's id." }),
    ),
    order: wholeNumber({
      minimum: 1,
      default: 1,
      description: 'Routes of a lower order are used first; the others are used if none of those can.',
    }),
    weight: wholeNumber({
      minimum: 1,
      default: 1,
      description: "The route's share of the work among routes of the same order.",
    }),
    seconds: Type.Optional(
      Type.Array(wholeNumber({ minimum: 1 }), {
        minItems: 1,
        description: 'Video lengths it can make, such as `[4, 8]`. Default: every length.',
      }),
    ),
    sizes: Type.Optional(
      Type.Array(
        Type.String({ pattern: '^[1-9][0-9]*x[1-9][0-9]*$', 'x-demand': 'a size such as 1280x720' }),
        {
          minItems: 1,
          description: 'Video sizes it can make, such as `[1280x720]`. Default: every size.',
        },
      ),
    ),
    slots: Type.Optional(
      wholeNumber({
        minimum: 1,
        description: "Tasks of the model it may have in flight. Default: the provider's slots.",
      }),
    ),
  },
  { additionalProperties: false },
)

export const modelConfigSchema = Type.Object(
  {
    state: Type.Optional(
      Type.Enum(['active', 'deprecated', 'retired'], {
        description:
          "`active`, `deprecated` (responses have a warning) or `retired` (requests are refused). Default: the catalog's.",
      }),
    ),
    shutdownDate: Type.Optional(
      text({
        'x-demand': 'a date such as 2027-01-31',
        description: 'The date on which a deprecated model is shut down.',
      }),
    ),
    successor: Type.Optional(
      text({
        'x-demand': 'a model of the catalog',
        description: "The model to use instead. Default: the catalog's successor, if it has one.",
      }),
    ),
    provider: Type.Optional(
      text({
        description:
          'Short for `routes` with a single route to this provider. Default: the first provider of the file.',
      }),
    ),
    upstreamModel: Type.Optional(
      text({ description: "That provider's own name for the model. Default: the model's id." }),
    ),
    routes: Type.Optional(
      Type.Array(routeConfigSchema, {
        minItems: 1,
        description: 'The providers that serve the model. Default: the first provider of the file.',
      }),
    ),
    pricePerSecondMicros: price('a second of video'),
    pricePerMinuteMicros: price('a minute of audio'),
    pricePerMillionCharactersMicros: price('a million characters of speech'),
  },
  { additionalProperties: false },
)

const isDate = (text: string): boolean => {
  const date = new Date(`${text}T00:00:00Z`)
  return !Number.isNaN(date.getTime()) && date.toISOString().slice(0, 10) === text
}

const routeFrom = (id: string, given: Static<typeof routeConfigSchema>): RouteConfig => ({
  provider: given.provider,
  upstreamModel: given.model ?? id,
  order: given.order,
  weight: given.weight,
  seconds: given.seconds,
  sizes: given.sizes,
  slots: given.slots,
})

/** The provider that each route names, also for a config that is not valid. */
export const routedProviders = (raw: unknown): (string | undefined)[] => {
  const routes = isMapping(raw) ? raw['routes'] : undefined
  if (!Array.isArray(routes)) return []
  return routes.map((route: unknown) => {
    const provider = isMapping(route) ? route['provider'] : undefined
    return typeof provider === 'string' ? provider : undefined
  })
}

/** Returns a model's config, or all problems with it. `providers` are the names that routes may use. */
export const parseModelConfig = (
  id: string,
  raw: unknown,
  { providers, knownModels }: { providers: string[]; knownModels: string[] },
): { config: ModelConfig; problems: [] } | { config: undefined; problems: Problem[] } => {
  const { values, problems } = validateConfig(modelConfigSchema, raw)
  const report = (path: Problem['path'], message: string) => problems.push({ path, message })

  if (!knownModels.includes(id)) report([], `is not a model of the catalog${didYouMean(id, knownModels)}`)
  const { shutdownDate, successor } = values
  if (shutdownDate !== undefined && !isDate(shutdownDate)) {
    report(['shutdownDate'], `must be a date such as 2027-01-31, not "${shutdownDate}"`)
  }
  if (successor !== undefined && !knownModels.includes(successor)) {
    report(
      ['successor'],
      `must be a model of the catalog, not "${successor}"${didYouMean(successor, knownModels)}`,
    )
  }
  const isShort = values.provider !== undefined || values.upstreamModel !== undefined
  if (isShort && isMapping(raw) && 'routes' in raw) {
    report(['routes'], 'cannot be combined with provider and upstreamModel; write those as a route')
  }
  const checkProvider = (path: Problem['path'], name: string) => {
    if (providers.includes(name)) return
    report(path, `must be one of ${providers.join(', ')}, not "${name}"${didYouMean(name, providers)}`)
  }
  if (values.provider !== undefined) checkProvider(['provider'], values.provider)
  for (const [index, provider] of routedProviders(raw).entries()) {
    if (provider !== undefined) checkProvider(['routes', index, 'provider'], provider)
  }
  if (problems.length > 0) return { config: undefined, problems }

  const short = { provider: values.provider ?? providers[0] ?? '', model: values.upstreamModel ?? id }
  const routes = isShort ? [{ ...short, order: 1, weight: 1 }] : values.routes
  return {
    config: {
      state: values.state,
      shutdownDate,
      successor,
      routes: routes?.map((route) => routeFrom(id, route)),
      pricePerSecondMicros: values.pricePerSecondMicros,
      pricePerMinuteMicros: values.pricePerMinuteMicros,
      pricePerMillionCharactersMicros: values.pricePerMillionCharactersMicros,
    },
    problems: [],
  }
}
