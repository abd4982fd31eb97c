/** Applies the overrides from the database to the configuration of the file. */
import type { Protocol } from '../providers/kit/protocol.ts'
import type { FileConfig, ProviderConfig, RoutingConfig } from './config.ts'
import { mergeModel, parseModelConfig, setsPrices } from './model-config.ts'
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
const mergeModels = (file: FileConfig, overrides: ConfigOverrides['models'], providers: string[]) => {
  const problems: string[] = []
  const models = { ...file.models }
  const ids = new Set([...Object.keys(models), ...Object.keys(overrides)])
  for (const [id, raw] of Object.entries(overrides)) {
    const named = routedProviders(raw).filter((name) => name !== undefined)
    const { config, problems: found } = parseModelConfig(id, mergeModel(file.writtenModels[id], raw), {
      providers: [...providers, ...named],
      knownModels: ids,
      priceSource: setsPrices(raw) ? 'record' : (file.models[id]?.priceSource ?? 'record'),
    })
    problems.push(...describeProblems(['models', id], found))
    if (config === undefined) continue
    for (const { provider } of config.routes ?? []) {
      if (!providers.includes(provider)) {
        problems.push(`models.${id} has a route to ${provider}, which does not exist`)
      }
    }
    models[id] = {
      ...config,
      routes: config.routes?.filter(({ provider }) => providers.includes(provider)),
    }
  }
  for (const { path, message } of problemsBetween(Object.values(models), new Set(Object.keys(models)))) {
    const id = String(path[0])
    problems.push(...describeProblems(['models'], [{ path, message }]))
    const inFile = file.models[id]
    if (inFile === undefined) delete models[id]
    else models[id] = inFile
  }
  return { models, problems }
}

/** An invalid override is reported and does not affect other providers and models. */
export const mergeConfig = (
  file: FileConfig,
  overrides: ConfigOverrides,
  known: Known,
): { config: RoutingConfig; problems: string[] } => {
  const { providers, problems } = mergeProviders(file.providers, overrides.providers, known)
  const names = providers.map(({ name }) => name)
  const { models, problems: ofModels } = mergeModels(file, overrides.models, names)
  return {
    config: { providers, models },
    problems: [...problems, ...ofModels],
  }
}
