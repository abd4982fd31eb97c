/** Who does a piece of work: which provider is chosen, whether it may be called, and who is next when it turns it away. */
import { setTimeout as wait } from 'node:timers/promises'

import type { Log } from '../platform/log.ts'
import type { Postgres } from '../platform/postgres.ts'
import type { LiveConfig, RouteConfig } from '../provider-config/config.ts'
import { isTurnedAway, ProviderFailure } from '../providers/port/failure.ts'
import type { Capability, Provider, Providers } from '../providers/port/provider.ts'
import { chooseRoute } from './choose-route.ts'
import { backoffMs } from './full-jitter.ts'
import { createHealth } from './health.ts'
import { createLoad } from './load.ts'
import type { Leave, Requirements, Route, Router } from './route.ts'

export interface RouterDependencies {
  liveConfig: LiveConfig
  providers: Providers
  postgres: Postgres
  log: Log
}

/** For longer nobody is kept waiting who could try again themselves. */
const pauseMsMost = 2_000
/** When to come back where nobody is set up to do it. */
const noRouteRetryMs = 30_000

const impliedRoute = (provider: Provider, upstreamModel: string): Route => ({
  provider,
  upstreamModel,
  order: 1,
  weight: 1,
  seconds: undefined,
  sizes: undefined,
  slots: provider.slots,
})

export const createRouter = async ({
  liveConfig,
  providers,
  postgres,
  log,
}: RouterDependencies): Promise<Router & { stop: () => Promise<void> }> => {
  const health = await createHealth({ postgres, log })
  const load = createLoad({ postgres, log })

  const keysNow = () =>
    new Map(liveConfig.current().providers.map((each) => [each.name, each.apiKey?.reveal()]))
  let keys = keysNow()
  const stopHearing = liveConfig.onChange(() => {
    const earlier = keys
    keys = keysNow()
    for (const [name, key] of keys) if (earlier.has(name) && earlier.get(name) !== key) health.forget(name)
  })

  /** Who serves what nobody is named for. */
  const usualProvider = (capability: Capability | undefined): Provider | undefined => {
    const can = (provider: Provider) => capability === undefined || provider[capability] !== undefined
    const present = providers.all()
    return present.find((each) => each.acceptsJobs && can(each)) ?? present.find(can) ?? present[0]
  }

  const routeOf = (settings: RouteConfig, capability: Capability | undefined): Route | undefined => {
    const provider =
      settings.provider === ''
        ? usualProvider(capability)
        : providers.all().find(({ name }) => name === settings.provider)
    if (provider === undefined) return undefined
    const { upstreamModel, order, weight, seconds, sizes, slots = provider.slots } = settings
    return { provider, upstreamModel, order, weight, seconds, sizes, slots }
  }

  const routesOf: Router['routesOf'] = (model, capability) => {
    const settings = liveConfig.current().models[model]?.routes
    if (settings !== undefined) {
      return settings
        .flatMap((each) => routeOf(each, capability) ?? [])
        .toSorted((one, other) => one.order - other.order)
    }
    const provider = usualProvider(capability)
    return provider === undefined ? [] : [impliedRoute(provider, model)]
  }

  /** Work that is pinned goes on where it is, whoever serves the model now. */
  const routesFor = (model: string, { capability, onlyAt }: Requirements): Route[] => {
    const routes = routesOf(model, capability)
    const pinned = onlyAt === undefined ? undefined : providers.find(onlyAt)
    const isThere = routes.some(({ provider }) => provider.name === onlyAt)
    return pinned === undefined || isThere ? routes : [impliedRoute(pinned, model)]
  }

  const choose = (model: string, need: Requirements) => {
    const chosen = chooseRoute(routesFor(model, need), need, {
      healthOf: (provider) => health.healthOf(provider, model),
      isOffered: (provider) => health.isOffered(provider, model),
      tasksAt: (provider) => ({ all: load.tasksAt(provider), ofModel: load.tasksOf(provider, model) }),
      random: Math.random,
    })
    if (chosen === undefined) return undefined
    const { provider } = chosen.decision
    if (health.healthOf(provider, model).kind === 'unhealthy') health.noteOffer(provider, model)
    if (need.capability === 'video') load.note(provider, model)
    return chosen
  }

  /** One call, and what it says about the provider. */
  const attempt = async <Answer>(
    model: string,
    need: Requirements,
    route: Route,
    signal: AbortSignal,
    work: (route: Route) => Promise<Answer>,
  ): Promise<{ answer: Answer; route: Route }> => {
    const { name } = route.provider
    if (need.outlivesClient === true && signal.aborted) {
      health.letGo(name, model)
      throw new ProviderFailure('not_delivered', 'the client has disconnected')
    }
    try {
      const answer = await work(route)
      health.report(name, model, 'ok')
      return { answer, route }
    } catch (error) {
      // A client that disconnects, or a fault of ours, says nothing about the provider.
      const isOurDoing = signal.aborted && need.outlivesClient !== true
      if (isOurDoing || !(error instanceof ProviderFailure)) health.letGo(name, model)
      else {
        health.report(name, model, error.kind, error.retryAfterMs)
        log.info({ provider: name, model, kind: error.kind, err: error }, 'call.failed')
      }
      throw error
    }
  }

  /** Once more at the only one there is, where that is worth waiting for. Undefined where it is not. */
  const again = async <Answer>(
    model: string,
    need: Requirements,
    route: Route,
    signal: AbortSignal,
    failure: ProviderFailure,
    work: (route: Route) => Promise<Answer>,
  ) => {
    const pauseMs = Math.min(pauseMsMost, backoffMs(0, failure.retryAfterMs))
    if ((failure.retryAfterMs ?? 0) > pauseMsMost || signal.aborted) return undefined
    const isOver = await wait(pauseMs, true, { signal }).catch(() => false)
    if (!isOver) return undefined
    const leave = await health.mayCall(route.provider.name, model, 'retry', { heedsPauses: false })
    return leave.kind === 'yes' ? attempt(model, need, route, signal, work) : undefined
  }

  const call: Router['call'] = async (model, need, signal, work) => {
    const asked = new Set<string>()
    const refusals: Extract<Leave, { kind: 'no' }>[] = []
    let failed: { route: Route; failure: ProviderFailure } | undefined
    for (;;) {
      const tried = [...(need.tried ?? []), ...asked]
      const chosen = choose(model, { ...need, tried })
      if (chosen === undefined) {
        const message = `no provider is set up that can do this with ${model}`
        throw new ProviderFailure('busy', message, {
          code: 'service_unavailable',
          retryAfterMs: noRouteRetryMs,
        })
      }
      const { route, isOnly } = chosen
      const { name } = route.provider
      if (asked.has(name)) {
        if (failed !== undefined && isOnly && failed.failure.kind !== 'unauthorized') {
          const second = await again(model, need, route, signal, failed.failure, work)
          if (second !== undefined) return second
        }
        break
      }
      asked.add(name)
      const leave = await health.mayCall(name, model, 'first', { heedsPauses: !isOnly })
      if (leave.kind === 'no') {
        refusals.push(leave)
        continue
      }
      try {
        return await attempt(model, need, route, signal, work)
      } catch (error) {
        if (!(error instanceof ProviderFailure) || !isTurnedAway(error) || signal.aborted) throw error
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
    throw new ProviderFailure('busy', `nobody may be asked for ${model} now: ${reasons}`, { retryAfterMs })
  }

  return {
    routesOf,
    choose,
    mayCall: (provider, model, kind) => health.mayCall(provider, model, kind),
    healthOf: health.healthOf,
    letGo: health.letGo,
    startsAllowed: health.startsAllowed,
    noteStarts: health.noteStarts,
    report: health.report,
    call,
    stop: async () => {
      stopHearing()
      await health.stop()
    },
  }
}
