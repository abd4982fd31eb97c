/** Models as shown to operators: all settings, and where they come from. */
import { ApiError } from '@kinora/contract/errors'
import type { ModelEntry } from '@kinora/contract/operations/admin/models'

import { isRetired } from '../../models/catalog.ts'
import type { Database } from '../../platform/postgres.ts'
import type { ConfiguredModel } from '../../provider-config/config.ts'
import type { ReloadableConfig } from '../../provider-config/live-config.ts'
import { mergeModel, modelConfigSchemas, parseModelConfig } from '../../provider-config/model-config.ts'
import { findModelRecord, listModelRecords } from '../../provider-config/provider-config-store.ts'
import { referenceModels } from '../../provider-config/reference-models.ts'
import { formatPath, isMapping, type Problem, type RawConfig } from '../../provider-config/validate-config.ts'
import { snakeCase } from '../settings/setting-names.ts'

export interface ModelDependencies {
  liveConfig: Pick<ReloadableConfig, 'current' | 'fileConfig' | 'refresh'>
}

export const noModel = (id: string): ApiError =>
  new ApiError('model_not_found', {
    param: 'id',
    message: `The model '${id.slice(0, 100)}' does not exist. List the models with GET /admin/v1/models.`,
  })

/** The parameter of a problem in the request body. */
const paramOf = ([first, ...rest]: Problem['path']): string => {
  if (first === undefined) return 'id'
  const [alias, setting, ...inside] = rest
  const ofAlias = first === 'aliases' && alias !== undefined && setting !== undefined
  const path = ofAlias ? [alias, snakeCase(String(setting)), ...inside] : rest
  return formatPath(['settings', snakeCase(String(first)), ...path])
}

const settingNames = new Set(
  Object.values(modelConfigSchemas).flatMap(({ properties }) => Object.keys(properties)),
)

/** Names of settings are converted, but not ids of models, which may have capitals. */
const problemText = ({ path, message }: Problem): string =>
  `'${paramOf(path)}' ${message.replace(/\w+/g, (word) => (settingNames.has(word) ? snakeCase(word) : word))}`

/** `param` names the first problem; the message lists all. */
export const refuseModel = (problems: Problem[]): ApiError =>
  new ApiError('invalid_parameter', {
    param: paramOf(problems[0]?.path ?? []),
    message: `${problems.map(problemText).join('. ')}.`,
  })

/** Where a model comes from without the admin API; undefined if it does not. */
export const sourceWithoutRecord = (
  { liveConfig }: ModelDependencies,
  id: string,
): 'catalog' | 'file' | undefined => {
  const written = liveConfig.fileConfig().writtenModels[id]
  if (written === undefined) return undefined
  return written === referenceModels[id] ? 'catalog' : 'file'
}

/** Parses the settings of the admin API, merged with those of the other sources. */
export const parseRecord = ({ liveConfig }: ModelDependencies, id: string, record: RawConfig) => {
  const models = liveConfig.current().models
  const settings = mergeModel(liveConfig.fileConfig().writtenModels[id], record)
  const { config, problems } = parseModelConfig(id, settings, {
    providers: liveConfig.current().providers.map(({ name }) => name),
    knownModels: new Set([...Object.keys(models), id]),
    priceSource: 'record',
  })
  return { config, settings: isMapping(settings) ? settings : {}, problems }
}

/** The settings with other names, also those of aliases. The other mappings have names of the operator. */
export const renameSettings = (settings: RawConfig, rename: (name: string) => string): RawConfig =>
  Object.fromEntries(
    Object.entries(settings).map(([name, value]) => {
      if (name !== 'aliases' || !isMapping(value)) return [rename(name), value]
      const aliases = Object.entries(value).map(([alias, ofAlias]) => [
        alias,
        isMapping(ofAlias) ? renameSettings(ofAlias, rename) : ofAlias,
      ])
      return [name, Object.fromEntries(aliases)]
    }),
  )

const present = (
  dependencies: ModelDependencies,
  model: ConfiguredModel,
  record: RawConfig | undefined,
): ModelEntry => {
  const { id, kind, state } = model
  const written = dependencies.liveConfig.fileConfig().writtenModels[id] ?? {}
  const { settings, problems } =
    record === undefined ? { settings: written, problems: [] } : parseRecord(dependencies, id, record)
  return {
    ...{ id, object: 'model.entry', kind, state: isRetired(model) ? 'retired' : state },
    source: record === undefined ? (sourceWithoutRecord(dependencies, id) ?? 'file') : 'record',
    settings: renameSettings(problems.length === 0 ? settings : written, snakeCase),
    changed: Object.keys(record ?? {}).map(snakeCase),
    problem:
      problems.length === 0
        ? null
        : `These settings are no longer valid. Set them again: ${problems.map(problemText).join('. ')}.`,
  }
}

/** The models after an id, in the order of their ids. */
export const viewModels = async (
  database: Database,
  dependencies: ModelDependencies,
  { after, count }: { after: string; count: number },
): Promise<ModelEntry[]> => {
  await dependencies.liveConfig.refresh()
  const { models } = dependencies.liveConfig.current()
  const ids = Object.keys(models)
    .filter((id) => id > after)
    .toSorted()
    .slice(0, count)
  const records = await listModelRecords(database, ids)
  return ids.flatMap((id) => {
    const model = models[id]
    return model === undefined ? [] : present(dependencies, model, records[id])
  })
}

export const viewModel = async (
  database: Database,
  id: string,
  dependencies: ModelDependencies,
): Promise<ModelEntry> => {
  await dependencies.liveConfig.refresh()
  const { models } = dependencies.liveConfig.current()
  const model = Object.hasOwn(models, id) ? models[id] : undefined
  if (model === undefined) throw noModel(id)
  return present(dependencies, model, await findModelRecord(database, id))
}
