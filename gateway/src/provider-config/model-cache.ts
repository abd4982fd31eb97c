/**
 * Keeps the models that were validated, so that a reload validates only the changed ones. A model depends on its own
 * settings, on the names of the providers, and on the model that it names as its successor.
 */
import { isDeepStrictEqual } from 'node:util'

import type { ConfiguredModel } from './config.ts'
import { mergeModel, type ModelContext } from './model-config.ts'
import type { Problem, RawConfig } from './validate-config.ts'

/** The settings of a model in an earlier source, and what a later one changes. */
export interface ModelSources {
  id: string
  earlier: RawConfig | undefined
  later: unknown
  priceSource: ModelContext['priceSource']
}

type References = Pick<ModelContext, 'providers' | 'knownModels'>

interface Validated {
  config: ConfiguredModel | undefined
  problems: Problem[]
}

type Validate = (sources: ModelSources, merged: unknown, references: References) => Validated

interface CachedModel {
  sources: ModelSources
  merged: unknown
  validated: Validated
}

/** Unchanged models keep their identity. */
export const createModelCache = () => {
  let known = new Map<string, CachedModel>()
  let last: References = { providers: [], knownModels: new Set() }

  return (all: ModelSources[], references: References, validate: Validate): CachedModel[] => {
    const { providers, knownModels } = references
    const hasSameProviders = isDeepStrictEqual(providers, last.providers)
    const hasSameModels =
      last.knownModels.size === knownModels.size && [...knownModels].every((id) => last.knownModels.has(id))
    // Messages suggest similar names of models, so a problem depends on all of them.
    const isStillValid = ({ config, problems }: Validated) =>
      hasSameProviders &&
      (hasSameModels ||
        (problems.length === 0 && (config?.successor === undefined || knownModels.has(config.successor))))
    const models = all.map((sources): CachedModel => {
      const cached = known.get(sources.id)
      if (
        cached !== undefined &&
        isStillValid(cached.validated) &&
        isDeepStrictEqual(cached.sources, sources)
      )
        return cached
      const merged = mergeModel(sources.earlier, sources.later)
      return { sources, merged, validated: validate(sources, merged, references) }
    })
    known = new Map(models.map((model) => [model.sources.id, model]))
    last = references
    return models
  }
}

export type ModelCache = ReturnType<typeof createModelCache>
