/** Chooses a provider for each piece of work, checks that it may be called, and fails over to the next one. */
import { setTimeout as wait } from 'node:timers/promises'

import type { Log } from '../platform/log.ts'
import { count } from '../platform/metrics/metrics.ts'
import type { Postgres } from '../platform/postgres.ts'
import { watchForStalls, type Stalls } from '../platform/stalls.ts'
import { createBudgets } from '../provider-budgets/budgets.ts'
import type { LiveConfig, RouteConfig, RoutingConfig } from '../provider-config/config.ts'
import { isRetryable, ProviderFailure } from '../providers/port/failure.ts'
import type { Capability, Provider, Providers } from '../providers/port/provider.ts'
import { backoffMs } from './backoff.ts'
import { chooseRoute, explainRoutes, type RouteState } from './choose-route.ts'
import { createHealth } from './health.ts'
import { createLoad } from './load.ts'
import type { Permit, Requirements, Route, Router } from './route.ts'

export interface RouterDependencies {
  liveConfig: LiveConfig
  providers: Providers
  postgres: Postgres
  /** By default this process is watched. */
  stalls?: Stalls
  log: Log
}

/** A client is not kept waiting longer for a retry. */
const pauseMsMax = 2_000
/** Retry-After of a model without a capable route. */
const noRouteRetryMs = 30_000
/** Retry-After of a spent budget, which operators may raise at any time. */
const stoppedRetryMs = 60_000

const impliedRoute = (provider: Provider, upstreamModel: string): Route => ({
  provider,
  upstreamModel,
  order: 1,
  weight: 1,
  seconds: undefined,
  sizes: undefined,
  slots: provider.slots,
  costs: undefined,
})

/** What follows from a configuration and its providers. */
interface Derived {
  config: RoutingConfig
  present: Provider[]
  byName: Map<string, Provider>
  routes: Map<Capability | undefined, Map<string, Route[]>>
  modelsAt: Map<string, { model: string; slots: number }[]> | undefined
}

const derive = (config: RoutingConfig, present: Provider[]): Derived => ({
  config,
  present,
  byName: new Map(present.map((provider) => [provider.name, provider])),
  routes: new Map(),
  modelsAt: undefined,
})

/** Serves the models without routes. */
export const defaultProvider = (
  present: Provider[],
  capability: Capability | undefined,
): Provider | undefined => {
  const can = (provider: Provider) => capability === undefined || provider[capability] !== undefined
  return present.find((each) => each.acceptsJobs && can(each)) ?? present.find(can) ?? present[0]
}

const findRoutes = (
  { config, present, byName }: Derived,
  model: string,
  capability: Capability | undefined,
): Route[] => {
  const routeOf = (route: RouteConfig): Route | undefined => {
    const provider = route.provider === '' ? defaultProvider(present, capability) : byName.get(route.provider)
    if (provider === undefined) return undefined
    const { upstreamModel, order, weight, seconds, sizes, slots = provider.slots, costs } = route
    return { provider, upstreamModel, order, weight, seconds, sizes, slots, costs }
  }
  const configured = config.models[model]?.routes
  if (configured !== undefined) {
    return configured.flatMap((each) => routeOf(each) ?? []).toSorted((one, other) => one.order - other.order)
  }
  const provider = defaultProvider(present, capability)
  return provider === undefined ? [] : [impliedRoute(provider, model)]
}

export const createRouter = async ({
  liveConfig,
  providers,
  postgres,
  log,
  stalls = watchForStalls(log),
}: RouterDependencies): Promise<Router & { stop: () => Promise<void> }> => {
  const health = await createHealth({ postgres, stalls, log })
  const load = createLoad({ postgres, log })
  const budgets = await createBudgets({ postgres, liveConfig, log })

  const currentKeys = () =>
    new Map(liveConfig.current().providers.map((each) => [each.name, each.apiKey?.reveal()]))
  let keys = currentKeys()
  const stopListening = liveConfig.onChange(() => {
    const earlier = keys
    keys = currentKeys()
    for (const [name, key] of keys) if (earlier.has(name) && earlier.get(name) !== key) health.reset(name)
  })

  let derived: Derived | undefined
  /** What follows from the configuration alone is found once, because a request must not cost more with more models. */
  const current = (): Derived => {
    const [config, present] = [liveConfig.current(), providers.all()]
    if (derived?.config !== config || derived.present !== present) derived = derive(config, present)
    return derived
  }

  const routesOf: Router['routesOf'] = (model, capability) => {
    const known = current()
    const ofCapability = known.routes.get(capability) ?? new Map<string, Route[]>()
    known.routes.set(capability, ofCapability)
    const routes = ofCapability.get(model) ?? findRoutes(known, model, capability)
    // Tasks can have models that are no longer configured.
    if (Object.hasOwn(known.config.models, model)) ofCapability.set(model, routes)
    return routes
  }

  const modelsAt: Router['modelsAt'] = (provider) => {
    const known = current()
    known.modelsAt ??= Map.groupBy(
      Object.keys(known.config.models).flatMap((model) => {
        const routes = new Map(
          routesOf(model)
            .toReversed()
            .map((route) => [route.provider.name, route]),
        )
        return [...routes].map(([name, { slots }]) => ({ provider: name, model, slots }))
      }),
      (each) => each.provider,
    )
    return known.modelsAt.get(provider) ?? []
  }

  /** Work that is bound to a provider stays there, even if the provider no longer has a route. */
  const routesFor = (model: string, { capability, onlyAt }: Requirements): Route[] => {
    const routes = routesOf(model, capability)
    const pinned = onlyAt === undefined ? undefined : providers.find(onlyAt)
    const isRouted = routes.some(({ provider }) => provider.name === onlyAt)
    return pinned === undefined || isRouted ? routes : [impliedRoute(pinned, model)]
  }

  const stateOf = (model: string): RouteState => ({
    healthOf: (provider) => health.healthOf(provider, model),
    isOffered: (provider) => health.isOffered(provider, model),
    tasksAt: (provider) => ({ all: load.tasksAt(provider), ofModel: load.tasksOf(provider, model) }),
    stopAt: budgets.stopAt,
    random: Math.random,
  })

  const choose = (model: string, requirements: Requirements) => {
    const chosen = chooseRoute(routesFor(model, requirements), requirements, stateOf(model))
    if (chosen === undefined) return undefined
    const { provider } = chosen.decision
    count('kinora.routes.chosen', {
      model,
      'gen_ai.provider.name': provider,
      capability: requirements.capability,
    })
    if (health.healthOf(provider, model).kind === 'unhealthy') health.noteOffer(provider, model)
    if (requirements.capability === 'video') load.add(provider, model)
    return chosen
  }

  /** Makes one call and reports its outcome. */
  const attempt = async <Answer>(
    model: string,
    requirements: Requirements,
    route: Route,
    signal: AbortSignal,
    work: (route: Route) => Promise<Answer>,
  ): Promise<{ answer: Answer; route: Route }> => {
    const { name } = route.provider
    if (requirements.outlivesClient === true && signal.aborted) {
      health.releaseProbe(name, model)
      throw new ProviderFailure('not_delivered', 'the client has disconnected')
    }
    const startedMs = performance.now()
    try {
      const answer = await work(route)
      health.report(name, model, 'ok')
      return { answer, route }
    } catch (error) {
      // A disconnected client or an error of ours says nothing about the provider.
      const isAborted = signal.aborted && requirements.outlivesClient !== true
      if (isAborted || !(error instanceof ProviderFailure)) health.releaseProbe(name, model)
      else {
        const { kind, retryAfterMs, isLocal } = error
        health.report(name, model, kind, { retryAfterMs, isLocal, startedMs })
        log.info({ provider: name, model, kind: error.kind, err: error }, 'call.failed')
      }
      throw error
    }
  }

  /** Retries once at the only route, unless the wait would be too long. Then it returns undefined. */
  const retryOnce = async <Answer>(
    model: string,
    requirements: Requirements,
    route: Route,
    signal: AbortSignal,
    failure: ProviderFailure,
    work: (route: Route) => Promise<Answer>,
  ) => {
    const pauseMs = Math.min(pauseMsMax, backoffMs(0, failure.retryAfterMs))
    if ((failure.retryAfterMs ?? 0) > pauseMsMax || signal.aborted) return undefined
    const isOver = await wait(pauseMs, true, { signal }).catch(() => false)
    if (!isOver) return undefined
    const permit = await health.mayCall(route.provider.name, model, 'retry', { respectsRetryAfter: false })
    return permit.kind === 'yes' ? attempt(model, requirements, route, signal, work) : undefined
  }

  const call: Router['call'] = async (model, requirements, signal, work) => {
    const called: string[] = []
    const refusals: (Extract<Permit, { kind: 'no' }> & { provider: string })[] = []
    let failed: { route: Route; failure: ProviderFailure } | undefined
    for (;;) {
      const tried = [...(requirements.tried ?? []), ...called]
      const unavailable = refusals.map(({ provider, reason, retryAfterMs: forMs }) => ({
        ...{ provider, reason, forMs },
      }))
      const chosen = choose(model, { ...requirements, tried, unavailable })
      if (chosen === undefined) {
        const message = `no configured provider can do this with ${model}`
        throw new ProviderFailure('busy', message, {
          code: 'service_unavailable',
          retryAfterMs: noRouteRetryMs,
        })
      }
      const { route, isOnly } = chosen
      const { name } = route.provider
      if (refusals.some(({ provider }) => provider === name)) break
      if (called.includes(name)) {
        if (failed !== undefined && isOnly && failed.failure.kind !== 'unauthorized') {
          const second = await retryOnce(model, requirements, route, signal, failed.failure, work)
          if (second !== undefined) return second
        }
        break
      }
      const stop = budgets.stopAt(name)
      if (stop !== undefined) {
        const { reason, forMs } = stop
        const retryAfterMs = Math.min(forMs, stoppedRetryMs)
        refusals.push({ kind: 'no', reason, retryAfterMs, isUnauthorized: false, provider: name })
        continue
      }
      const permit = await health.mayCall(name, model, 'first', { respectsRetryAfter: !isOnly })
      if (permit.kind === 'no') {
        refusals.push({ ...permit, provider: name })
        continue
      }
      called.push(name)
      try {
        return await attempt(model, requirements, route, signal, work)
      } catch (error) {
        if (!(error instanceof ProviderFailure) || !isRetryable(error) || signal.aborted) throw error
        failed = { route, failure: error }
      }
    }
    if (failed !== undefined) throw failed.failure
    const retryAfterMs = Math.min(...refusals.map((refusal) => refusal.retryAfterMs))
    const reasons = refusals.map(({ reason }) => reason).join('; ')
    if (refusals.every(({ isUnauthorized }) => isUnauthorized)) {
      const message = `every provider of ${model} refuses its credential: ${reasons}`
      throw new ProviderFailure('unauthorized', message, { code: 'upstream_error' })
    }
    throw new ProviderFailure('busy', `no provider of ${model} may be called now: ${reasons}`, {
      retryAfterMs,
    })
  }

  return {
    routesOf,
    modelsAt,
    choose,
    explain: (model, requirements) =>
      explainRoutes(routesFor(model, requirements), requirements, stateOf(model)),
    mayCall: (provider, model, kind) => health.mayCall(provider, model, kind),
    healthOf: health.healthOf,
    stopAt: budgets.stopAt,
    addCost: budgets.add,
    spends: budgets.spends,
    unsteadyAt: health.unsteadyAt,
    releaseProbe: health.releaseProbe,
    startsAllowed: health.startsAllowed,
    countStarts: health.countStarts,
    report: health.report,
    call,
    stop: async () => {
      stopListening()
      stalls.stop()
      await budgets.stop()
      await health.stop()
    },
  }
}
