/** What the metrics of API and worker are read from, and which names their labels may have. */
import { statfs } from 'node:fs/promises'

import type { Admission } from '../admission/admission.ts'
import type { Log } from '../platform/log.ts'
import { isMeasured, limitLabel, observe } from '../platform/metrics/metrics.ts'
import type { LiveConfig, RoutingConfig } from '../provider-config/config.ts'
import type { Providers } from '../providers/port/provider.ts'
import type { Router } from '../routing/route.ts'
import type { MediaStore } from '../storage/port/media-store.ts'
import type { Spool } from '../storage/port/spool.ts'

const refreshEveryMs = 15_000
/** A configuration may have thousands of models. */
const routesMax = 500
const microsPerUnit = 1_000_000

/** The labels `models` and `providers` have names of the configuration only. */
export const limitLabelsTo = ({
  liveConfig,
  providers,
}: {
  liveConfig: LiveConfig
  providers: Providers
}) => {
  let known: { config: RoutingConfig; upstreamModels: Set<string> } | undefined
  const upstreamModels = () => {
    const config = liveConfig.current()
    if (known?.config !== config) {
      const routes = Object.values(config.models).flatMap((model) => model.routes ?? [])
      known = { config, upstreamModels: new Set(routes.map(({ upstreamModel }) => upstreamModel)) }
    }
    return known.upstreamModels
  }
  const isModel = (value: string) => Object.hasOwn(liveConfig.current().models, value)
  limitLabel('models', isModel)
  // A model without routes has its own name at its provider.
  limitLabel('upstream models', (value) => isModel(value) || upstreamModels().has(value))
  limitLabel('providers', (value) => providers.find(value) !== undefined)
}

const stateOf = (router: Router, provider: string, model: string): number => {
  const health = router.healthOf(provider, model)
  if (health.kind === 'unhealthy') return health.forMs > 0 ? 2 : 1
  return Number.isFinite(router.startsAllowed(provider, model)) ? 1 : 0
}

/** Observes the routes as this process knows them. */
export const observeRoutes = (
  { providers, router }: { providers: Providers; router: Router },
  slot: 'task' | 'call',
): (() => void) => {
  const stops = [
    observe('kinora.route.breaker.state', () =>
      providers
        .all()
        .flatMap(({ name }) => router.modelsAt(name).map(({ model }) => ({ name, model })))
        .slice(0, routesMax)
        .map(({ name, model }) => [stateOf(router, name, model), { model, 'gen_ai.provider.name': name }]),
    ),
    observe('kinora.provider.unauthorized', () =>
      providers.all().map(({ name }) => {
        const isUnauthorized = router
          .unsteadyAt(name)
          .some(({ health }) => health.kind === 'unhealthy' && health.isUnauthorized)
        return [isUnauthorized ? 1 : 0, { 'gen_ai.provider.name': name }]
      }),
    ),
    observe('kinora.provider.slots.limit', () =>
      providers
        .all()
        .map((provider) => [
          slot === 'task' ? provider.slots : provider.concurrency,
          { 'gen_ai.provider.name': provider.name, slot },
        ]),
    ),
  ]
  return () => {
    for (const stop of stops) stop()
  }
}

/** Observes the budgets of providers. */
export const observeBudgets = ({ spends }: Pick<Router, 'spends'>): (() => void) => {
  const stops = [
    observe('kinora.provider.spend', () =>
      spends().map(({ provider, micros }) => [micros / microsPerUnit, { 'gen_ai.provider.name': provider }]),
    ),
    observe('kinora.provider.budget', () =>
      spends().map(({ provider, budgetMicros }) => [
        budgetMicros / microsPerUnit,
        { 'gen_ai.provider.name': provider },
      ]),
    ),
  ]
  return () => {
    for (const stop of stops) stop()
  }
}

/** Observes what requests in flight use. */
export const observeAdmission = ({ inFlight }: Admission): (() => void) =>
  observe('kinora.admission.in_flight', () => [
    [inFlight('requests'), { resource: 'requests' }],
    [inFlight('uploads'), { resource: 'uploads' }],
    [inFlight('bodyBytes'), { resource: 'body_bytes' }],
    [inFlight('spoolBytes'), { resource: 'spool_bytes' }],
  ])

/** Observes the disk, and the state of the media store if `mediaStore` is given. */
export const observeStorage = (
  { spool, mediaStore }: { spool: Spool; mediaStore?: MediaStore },
  log: Log,
): (() => void) => {
  let freeBytes: number | undefined
  let hasProblem = false
  const refresh = async () => {
    if (!isMeasured()) return
    const { bavail, bsize } = await statfs(spool.directory)
    freeBytes = bavail * bsize
    hasProblem = (await mediaStore?.findProblem?.()) !== undefined
  }
  const refreshNow = () =>
    void refresh().catch((error: unknown) => log.warn({ err: error }, 'metrics.not-read'))
  refreshNow()
  const timer = setInterval(refreshNow, refreshEveryMs).unref()
  const stops = [
    observe('kinora.storage.free', () => (freeBytes === undefined ? [] : [[freeBytes, {}]])),
    observe('kinora.storage.problem', () => (mediaStore === undefined ? [] : [[hasProblem ? 1 : 0, {}]])),
  ]
  return () => {
    clearInterval(timer)
    for (const stop of stops) stop()
  }
}
