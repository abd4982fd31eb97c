/** Applies the overrides from the database to the configuration of the file. */
import type { Protocol } from '../providers/kit/protocol.ts'
import type { ConfiguredModel, FileConfig, ProviderConfig, RoutingConfig } from './config.ts'
import { createModelCache, type ModelCache } from './model-cache.ts'
import { parseModelConfig, setsPrices } from './model-config.ts'
import { problemsBetween } from './parse-models.ts'
import type { ConfigOverrides, ProviderOverride } from './provider-config-store.ts'
import { parseProviderConfig } from './provider-config.ts'
import { routedProviders } from './route-config.ts'
import { formatPath, type Problem } from './validate-config.ts'

interface Known {
  protocols: Record<string, Protocol>
}

const describeProblems = (prefix: string[], problems: Problem[]): string[] =>
  problems.map(({ path, message }) => `${formatPath([...prefix, ...path])} ${message}`)

/** The key of the file stays valid, but is never sent to another origin than the one the file names. */
const fileApiKey = ({ baseUrl }: ProviderConfig, inFile: ProviderConfig | undefined) =>
  inFile !== undefined && new URL(baseUrl).origin === new URL(inFile.baseUrl).origin
    ? inFile.apiKey
    : undefined

/** Providers of the file keep their positions, because the first provider serves models without routes. */
const mergeProviders = (file: ProviderConfig[], overrides: ProviderOverride[], { protocols }: Known) => {
  const merged = new Map(file.map((config) => [config.name, config]))
  const problems: string[] = []
  for (const { name, config: raw, apiKey, isCredentialUnreadable, isRemoved } of overrides) {
    const inFile = merged.get(name)
    // Removing the override restores the file's config.
    if (isRemoved && inFile !== undefined) continue
    const { config, problems: found } = parseProviderConfig(name, raw, protocols)
    problems.push(...describeProblems(['providers', name], found))
    if (isCredentialUnreadable) {
      problems.push(
        `providers.${name} has a key that no secret of CREDENTIAL_SECRETS decrypts: add the secret that encrypted it, or set the key again`,
      )
    }
    if (config !== undefined) {
      // Without its key every job would fail.
      const isEnabled = config.isEnabled && !isRemoved && !isCredentialUnreadable
      merged.set(name, { ...config, apiKey: apiKey ?? fileApiKey(config, inFile), isEnabled })
    } else if (inFile !== undefined) {
      // An operator changed the provider but the change is unusable, so neither version may accept new jobs.
      merged.set(name, { ...inFile, isEnabled: false })
    }
  }
  return { providers: [...merged.values()], problems }
}

/** Routes to unknown providers are dropped. A model left without routes does not fall back to the first provider. */
const mergeModels = (
  file: FileConfig,
  overrides: ConfigOverrides['models'],
  providers: string[],
  cache: ModelCache,
) => {
  const problems: string[] = []
  const models = { ...file.models }
  const knownModels = new Set([...Object.keys(models), ...Object.keys(overrides)])
  const sources = Object.entries(overrides).map(([id, later]) => ({
    id,
    earlier: file.writtenModels[id],
    later,
    priceSource: setsPrices(later) ? ('record' as const) : (file.models[id]?.priceSource ?? 'record'),
  }))
  const existing = new Set(providers)
  const parsed = cache(sources, { providers, knownModels }, ({ id, later, priceSource }, merged) => {
    const named = routedProviders(later).filter((name) => name !== undefined)
    const { config, problems: found } = parseModelConfig(id, merged, {
      providers: [...providers, ...named],
      knownModels,
      priceSource,
    })
    if (config === undefined) return { config, problems: found }
    const missing = (config.routes ?? []).filter(({ provider }) => !existing.has(provider))
    return {
      config: { ...config, routes: config.routes?.filter((route) => !missing.includes(route)) },
      problems: missing.map(({ provider }) => ({
        path: [],
        message: `has a route to ${provider}, which does not exist`,
      })),
    }
  })
  for (const {
    sources: { id },
    validated: { config, problems: found },
  } of parsed) {
    problems.push(...describeProblems(['models', id], found))
    if (config !== undefined) models[id] = config
  }
  // The models of the file come first, so that of two models with one name the overridden one is reported.
  const isChanged = ({ id }: ConfiguredModel) => Object.hasOwn(overrides, id)
  const [changed, unchanged] = [true, false].map((wanted) =>
    Object.values(models).filter((model) => isChanged(model) === wanted),
  )
  const inOrder = [...(unchanged ?? []), ...(changed ?? [])]
  for (const { path, message } of problemsBetween(inOrder, new Set(Object.keys(models)))) {
    const [id, , alias] = path.map(String)
    problems.push(...describeProblems(['models'], [{ path, message }]))
    // An alias of the file that is the id of an added model.
    const reverted = id !== undefined && Object.hasOwn(overrides, id) ? id : alias
    if (reverted === undefined) continue
    const inFile = file.models[reverted]
    if (inFile === undefined) delete models[reverted]
    else models[reverted] = inFile
  }
  return { models, problems }
}

/** An invalid override is reported and does not affect other providers and models. */
export const createMergeConfig = ({ protocols }: Known) => {
  const cache = createModelCache()
  return (file: FileConfig, overrides: ConfigOverrides): { config: RoutingConfig; problems: string[] } => {
    const { providers, problems } = mergeProviders(file.providers, overrides.providers, { protocols })
    const names = providers.map(({ name }) => name)
    const { models, problems: ofModels } = mergeModels(file, overrides.models, names, cache)
    return { config: { providers, models }, problems: [...problems, ...ofModels] }
  }
}
