/**
 * The models that customers may use. A model without a route would go to the first provider. If that is the built-in one,
 * customers would pay the model's price for its simple media, so the model is not offered unless the operator wants it.
 */
import { capabilityFor } from '../admin/providers/capability-for.ts'
import type { Log } from '../platform/log.ts'
import type { ConfiguredModel, LiveConfig, RoutingConfig } from '../provider-config/config.ts'
import type { Provider, Providers } from '../providers/port/provider.ts'
import { defaultProvider } from '../routing/router.ts'

type Models = Record<string, ConfiguredModel>

export const offeredModels = ({ models, providers }: RoutingConfig, present: Provider[]): Models => {
  const builtIn = new Set(providers.flatMap((each) => (each.kind === 'local' ? each.name : [])))
  const isOffered = ({ kind, routes }: ConfiguredModel) => {
    if (routes?.some(({ provider }) => provider !== '') === true) return true
    const implied = defaultProvider(present, capabilityFor[kind])
    return implied !== undefined && !builtIn.has(implied.name)
  }
  return Object.fromEntries(Object.entries(models).filter(([, model]) => isOffered(model)))
}

interface OfferDependencies {
  liveConfig: LiveConfig
  providers: Providers
  offersModelsWithoutRoutes: boolean
  log: Log
}

/** Returns the same object until the configuration changes, as the catalog requires. Logs the models that are not offered. */
export const createOfferedModels = ({
  liveConfig,
  providers,
  offersModelsWithoutRoutes,
  log,
}: OfferDependencies): (() => Models) => {
  let known: { config: RoutingConfig; offered: Models } | undefined
  let reported = ''
  const report = (models: string[]) => {
    if (models.join() === reported) return
    reported = models.join()
    const warning =
      'These models have no route, so they are not offered. Add routes in PROVIDERS_FILE or with the admin API, or set OFFER_MODELS_WITHOUT_ROUTES=true to serve them with the built-in provider.'
    if (models.length > 0) log.warn({ models, warning }, 'models.not-offered')
  }
  return () => {
    const config = liveConfig.current()
    if (offersModelsWithoutRoutes) return config.models
    if (known?.config !== config) {
      const offered = offeredModels(config, providers.all())
      known = { config, offered }
      report(Object.keys(config.models).filter((id) => !Object.hasOwn(offered, id)))
    }
    return known.offered
  }
}
