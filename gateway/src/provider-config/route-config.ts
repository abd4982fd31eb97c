/** The config of a route: one provider that serves a model. */
import { Type, type Static } from 'typebox'

import type { ModelConfig } from '../models/model.ts'
import { didYouMean } from '../platform/text/nearest-name.ts'
import type { RouteConfig } from './config.ts'
import { priceRules, problemsOfRules, rulesOf } from './price-config.ts'
import { text, wholeNumber } from './setting-types.ts'
import { isMapping, validateConfig, type Problem } from './validate-config.ts'

export const size = Type.String({
  pattern: '^[1-9][0-9]*x[1-9][0-9]*$',
  'x-demand': 'a size such as 1280x720',
})

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
      Type.Array(size, {
        minItems: 1,
        description: 'Video sizes it can make, such as `[1280x720]`. Default: every size.',
      }),
    ),
    slots: Type.Optional(
      wholeNumber({
        minimum: 1,
        description: "Tasks of the model it may have in flight. Default: the provider's slots.",
      }),
    ),
    costs: Type.Optional(
      priceRules(
        'What the provider charges, in the form of [prices](#prices-and-costs). Operators see it, and the margin, in usage and receipts. Default: unknown.',
      ),
    ),
  },
  { additionalProperties: false },
)

/** The settings of a model that name its providers. */
export const routeSettings = {
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
}

const routeFrom = (id: string, given: Static<typeof routeConfigSchema>): RouteConfig => ({
  provider: given.provider,
  upstreamModel: given.model ?? id,
  order: given.order,
  weight: given.weight,
  seconds: given.seconds,
  sizes: given.sizes,
  slots: given.slots,
  costs: given.costs && rulesOf(given.costs),
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

interface RouteValues {
  provider?: string
  upstreamModel?: string
  routes?: Static<typeof routeConfigSchema>[]
}

/** The routes of a model; undefined if its config names no provider. `providers` are the names that routes may use. */
export const routesOf = (
  id: string,
  values: RouteValues,
  raw: unknown,
  providers: string[],
): { routes: RouteConfig[] | undefined; problems: Problem[] } => {
  const problems: Problem[] = []
  const report = (path: Problem['path'], message: string) => problems.push({ path, message })
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
  const short = { provider: values.provider ?? providers[0] ?? '', model: values.upstreamModel ?? id }
  const routes = isShort ? [{ ...short, order: 1, weight: 1 }] : values.routes
  return { routes: routes?.map((route) => routeFrom(id, route)), problems }
}

/** The problems of what the routes of a model cost. */
export const problemsOfCosts = (kind: ModelConfig['kind'], routes: RouteConfig[] = []): Problem[] =>
  routes.flatMap(({ costs = [] }, index) =>
    problemsOfRules(costs, kind, { isComplete: false }).map(({ path, message }) => ({
      path: ['routes', index, 'costs', ...path],
      message,
    })),
  )

const routeSettingsSchema = Type.Object(routeSettings)

/** The problems of the routes in a model's config, whose other settings are not considered. */
export const problemsOfRoutes = (
  { id, kind }: Pick<ModelConfig, 'id' | 'kind'>,
  raw: unknown,
  providers: string[],
): Problem[] => {
  const given = isMapping(raw) ? raw['routes'] : undefined
  const { values, problems } = validateConfig(routeSettingsSchema, { routes: given })
  const { routes, problems: ofRoutes } = routesOf(id, values, { routes: given }, providers)
  const found = [...problems, ...ofRoutes]
  return found.length > 0 ? found : problemsOfCosts(kind, routes)
}
