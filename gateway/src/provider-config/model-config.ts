/** What may be set up about a model: its state, its price, and who serves it. */
import { Type, type Static } from 'typebox'

import { isEntry, readConfigEntry, type Problem } from './config-reader.ts'
import type { ModelSettings, RouteSettings } from './config.ts'
import { didYouMean } from './nearest-name.ts'

const price = (of: string) =>
  Type.Optional(
    Type.Integer({
      minimum: 0,
      description: `What ${of} costs, in millionths of CURRENCY. Default: the catalog's price.`,
    }),
  )

export const routeSettings = Type.Object({
  provider: Type.String({ description: 'The name of the provider that serves the model.' }),
  model: Type.Optional(
    Type.String({ description: "The provider's own name for the model. Default: the model's id." }),
  ),
  order: Type.Integer({
    minimum: 1,
    default: 1,
    description: 'Routes of a lower order are taken first, the others when none of those will do.',
  }),
  weight: Type.Integer({
    minimum: 1,
    default: 1,
    description: "A route's share of the work among routes of the same order.",
  }),
  seconds: Type.Optional(
    Type.Array(Type.Integer({ minimum: 1 }), {
      minItems: 1,
      description: 'Lengths of video it can make, such as `[4, 8]`. Default: every length.',
    }),
  ),
  sizes: Type.Optional(
    Type.Array(Type.String({ pattern: '^[1-9][0-9]*x[1-9][0-9]*$', 'x-demand': 'a size such as 1280x720' }), {
      minItems: 1,
      description: 'Sizes of video it can make, such as `[1280x720]`. Default: every size.',
    }),
  ),
  slots: Type.Optional(
    Type.Integer({
      minimum: 1,
      description: "Tasks of the model it may have in flight. Default: the provider's slots.",
    }),
  ),
})

export const commonModelSettings = Type.Object({
  state: Type.Optional(
    Type.Enum(['active', 'deprecated', 'retired'], {
      description:
        "`active`, `deprecated` (answered with a warning) or `retired` (refused). Default: the catalog's.",
    }),
  ),
  shutdownDate: Type.Optional(
    Type.String({ 'x-demand': 'a day such as 2027-01-31', description: 'The day a deprecated model goes.' }),
  ),
  successor: Type.Optional(
    Type.String({
      'x-demand': 'a model of the catalog',
      description: "The model to use instead. Default: the catalog's, where it names one.",
    }),
  ),
  provider: Type.Optional(
    Type.String({
      description: 'Short for `routes` with this provider alone. Default: the first provider of the file.',
    }),
  ),
  upstreamModel: Type.Optional(
    Type.String({ description: "That provider's own name for the model. Default: the model's id." }),
  ),
  routes: Type.Optional(
    Type.Array(routeSettings, {
      minItems: 1,
      description: 'Who serves the model, in order of preference. Default: the first provider of the file.',
    }),
  ),
  pricePerSecondMicros: price('a second of video'),
  pricePerMinuteMicros: price('a minute of sound'),
  pricePerMillionCharactersMicros: price('a million characters of speech'),
})

const isDay = (text: string): boolean => {
  const day = new Date(`${text}T00:00:00Z`)
  return !Number.isNaN(day.getTime()) && day.toISOString().slice(0, 10) === text
}

const routeFrom = (id: string, given: Static<typeof routeSettings>): RouteSettings => ({
  provider: given.provider,
  upstreamModel: given.model ?? id,
  order: given.order,
  weight: given.weight,
  seconds: given.seconds,
  sizes: given.sizes,
  slots: given.slots,
})

/** The provider that each route of an entry names, whatever else is right or wrong with the entry. */
export const routedTo = (entry: unknown): (string | undefined)[] => {
  const routes = isEntry(entry) ? entry['routes'] : undefined
  if (!Array.isArray(routes)) return []
  return routes.map((route: unknown) => {
    const provider = isEntry(route) ? route['provider'] : undefined
    return typeof provider === 'string' ? provider : undefined
  })
}

/** A model's settings, or all that is wrong with the entry. `providers` are the names that routes may lead to. */
export const parseModelConfig = (
  id: string,
  entry: unknown,
  { providers, knownModels }: { providers: string[]; knownModels: string[] },
): { settings: ModelSettings; problems: [] } | { settings: undefined; problems: Problem[] } => {
  const { values, problems } = readConfigEntry(commonModelSettings, entry)
  const complain = (path: Problem['path'], message: string) => problems.push({ path, message })

  if (!knownModels.includes(id)) complain([], `is not a model of the catalog${didYouMean(id, knownModels)}`)
  const { shutdownDate, successor } = values
  if (shutdownDate !== undefined && !isDay(shutdownDate)) {
    complain(['shutdownDate'], `must be a day such as 2027-01-31, not "${shutdownDate}"`)
  }
  if (successor !== undefined && !knownModels.includes(successor)) {
    complain(
      ['successor'],
      `must be a model of the catalog, not "${successor}"${didYouMean(successor, knownModels)}`,
    )
  }
  const isShort = values.provider !== undefined || values.upstreamModel !== undefined
  if (isShort && isEntry(entry) && 'routes' in entry) {
    complain(['routes'], 'cannot stand beside provider and upstreamModel; write that as a route too')
  }
  const checkProvider = (path: Problem['path'], name: string) => {
    if (providers.includes(name)) return
    complain(path, `must be one of ${providers.join(', ')}, not "${name}"${didYouMean(name, providers)}`)
  }
  if (values.provider !== undefined) checkProvider(['provider'], values.provider)
  for (const [index, provider] of routedTo(entry).entries()) {
    if (provider !== undefined) checkProvider(['routes', index, 'provider'], provider)
  }
  if (problems.length > 0) return { settings: undefined, problems }

  const short = { provider: values.provider ?? providers[0] ?? '', model: values.upstreamModel ?? id }
  const routes = isShort ? [{ ...short, order: 1, weight: 1 }] : values.routes
  return {
    settings: {
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
