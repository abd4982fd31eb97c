/** Merges the models of two sources, and validates them and their references to each other. */
import type { ConfiguredModel, FileConfig } from './config.ts'
import { createModelCache, type ModelCache } from './model-cache.ts'
import { parseModelConfig, setsPrices } from './model-config.ts'
import { isMapping, type Problem, type RawConfig } from './validate-config.ts'

/** No two models may have the same name. */
export const problemsBetween = (models: ConfiguredModel[], ids: Set<string>): Problem[] => {
  const owners = new Map<string, string>()
  return models.flatMap(({ id, aliases }) => {
    const problems: Problem[] = []
    for (const alias of Object.keys(aliases)) {
      const path = [id, 'aliases', alias]
      const owner = owners.get(alias)
      if (ids.has(alias)) {
        const message = `cannot be a name of ${id}, because ${alias} is a model: choose another name`
        problems.push({ path, message })
      } else if (owner !== undefined) {
        const message = `cannot be a name of both ${owner} and ${id}: remove it from one of them`
        problems.push({ path, message })
      }
      owners.set(alias, id)
    }
    return problems
  })
}

/**
 * The models of an earlier source with the changes and additions of a later one, and all problems of the later one, whose
 * paths begin with the model. `providers` are the names that routes may use.
 */
export const parseModels = (
  earlier: Record<string, RawConfig>,
  later: Record<string, unknown>,
  providers: string[],
  cache: ModelCache = createModelCache(),
): Pick<FileConfig, 'models' | 'writtenModels'> & { problems: Problem[] } => {
  const ids = new Set([...Object.keys(earlier), ...Object.keys(later)])
  const sources = [...ids].map((id) => ({
    id,
    earlier: earlier[id],
    later: later[id],
    priceSource: setsPrices(later[id]) ? ('file' as const) : ('catalog' as const),
  }))
  const problems: Problem[] = []
  const models: Record<string, ConfiguredModel> = {}
  const writtenModels: Record<string, RawConfig> = {}
  const parsed = cache(sources, { providers, knownModels: ids }, ({ id, priceSource }, merged, references) =>
    parseModelConfig(id, merged, { ...references, priceSource }),
  )
  for (const {
    sources: { id },
    merged,
    validated,
  } of parsed) {
    const { config, problems: found } = validated
    problems.push(...found.map(({ path, message }) => ({ path: [id, ...path], message })))
    if (config === undefined) continue
    models[id] = config
    writtenModels[id] = isMapping(merged) ? merged : {}
  }
  problems.push(...problemsBetween(Object.values(models), ids))
  return { models, writtenModels, problems }
}
