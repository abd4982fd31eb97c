/** The model catalog: every model that is configured, by its id and its aliases. */
import { ApiError } from '@kinora/contract/errors'

import type { ModelConfig, SpeechModel, TranscriptionModel, VideoModel } from './model.ts'

export interface Catalog {
  /** All models that are not retired, in a stable order. */
  available: () => ModelConfig[]
  /** The same under each of their names, an alias after its model. */
  availableNames: () => ModelConfig[]
  /** Those of them that this endpoint serves. */
  servedBy: (endpoint: string) => ModelConfig[]
  /** Whether there is a model with this id that is not retired. */
  isAvailable: (id: string) => boolean
  /** The id of the model with this id or alias; undefined for an unknown or retired one. */
  idOf: (name: string) => string | undefined
  /**
   * The model with this id or alias. Throws `model_not_found` for an unknown or retired one. The error names the successor
   * of a retired one.
   */
  find: (name: string) => ModelConfig
  /** Throws `model_not_found`, or `invalid_parameter` if `endpoint` does not serve the model. */
  videoModelFor: (endpoint: string, name: string) => VideoModel
  transcriptionModelFor: (endpoint: string, name: string) => TranscriptionModel
  speechModelFor: (endpoint: string, name: string) => SpeechModel
  /** The usual generation time of a video, for retired and unknown models, too. */
  usualSeconds: (id: string) => number
}

const usualSecondsDefault = 120

const plain = (text: string) => text.toLowerCase().replace(/[^a-z0-9]/g, '')

const nearest = (id: string, { plainIds }: Derived): string | undefined => {
  const wanted = plain(id)
  if (wanted === '') return undefined
  let longer: string | undefined
  for (const [other, plainId] of plainIds()) {
    if (plainId === wanted) return other
    if (plainId.startsWith(wanted)) longer ??= other
  }
  return longer
}

const namesShownMax = 10

const commonPrefix = (one: string, other: string): number => {
  let length = 0
  while (length < one.length && one[length] === other[length]) length += 1
  return length
}

/** All names if there are few, otherwise those most like `name` and the number of the others. */
const listNames = (names: string[], name: string): string => {
  if (names.length <= namesShownMax) return names.join(', ')
  const alike = names
    .map((each) => ({ each, length: commonPrefix(each.toLowerCase(), name.toLowerCase()) }))
    .toSorted((a, b) => b.length - a.length)
    .slice(0, namesShownMax)
    .map(({ each }) => each)
  return `${alike.join(', ')} and ${names.length - alike.length} more, see GET /v1/models`
}

/** When requests for a model are refused, in milliseconds since 1970; undefined if they are not. */
const refusedFromMs = ({ state, shutdownDate }: ModelConfig): number | undefined => {
  if (state === 'retired') return 0
  return shutdownDate === undefined ? undefined : Date.parse(`${shutdownDate}T00:00:00Z`)
}

export const isRetired = (model: ModelConfig, nowMs = Date.now()): boolean =>
  (refusedFromMs(model) ?? Infinity) <= nowMs

/** The model under each of its names: the id first, then the aliases. */
const underNames = (model: ModelConfig): ModelConfig[] => [
  model,
  ...Object.entries(model.aliases).map(([name, changes]) => ({ ...model, ...changes, name, aliases: {} })),
]

/** The lists that are derived from the configured models, until one of them is shut down. */
interface Derived {
  models: Record<string, ModelConfig>
  untilMs: number
  byName: Map<string, ModelConfig>
  available: ModelConfig[]
  availableNames: () => ModelConfig[]
  byEndpoint: Map<string, ModelConfig[]>
  /** The ids of available models, and the form in which they are compared. */
  plainIds: () => [string, string][]
}

const derive = (models: Record<string, ModelConfig>, nowMs: number): Derived => {
  const all = Object.values(models)
  const available = all.filter((model) => !isRetired(model, nowMs))
  const byEndpoint = new Map<string, ModelConfig[]>()
  for (const model of available) {
    for (const endpoint of model.endpoints) {
      const served = byEndpoint.get(endpoint)
      if (served === undefined) byEndpoint.set(endpoint, [model])
      else served.push(model)
    }
  }
  const byName = new Map(all.flatMap(underNames).map((model) => [model.name, model]))
  let plainIds: [string, string][] | undefined
  let availableNames: ModelConfig[] | undefined
  return {
    models,
    plainIds: () => (plainIds ??= available.map(({ id }) => [id, plain(id)])),
    untilMs: Math.min(...available.map((model) => refusedFromMs(model) ?? Infinity)),
    byName,
    available,
    availableNames: () =>
      (availableNames ??= [...byName.values()].filter((model) => !isRetired(model, nowMs))),
    byEndpoint,
  }
}

/** `configured` is called on each access and must return a new object when a model was changed. */
export const createCatalog = (
  configured: () => Record<string, ModelConfig>,
  now: () => number = () => Date.now(),
): Catalog => {
  let cached: Derived | undefined
  const current = (): Derived => {
    const models = configured()
    const nowMs = now()
    if (cached?.models !== models || nowMs >= cached.untilMs) cached = derive(models, nowMs)
    return cached
  }
  const available = () => current().available

  const find = (name: string): ModelConfig => {
    const model = current().byName.get(name)
    if (model !== undefined && !isRetired(model, now())) return model
    const suggestion = model?.successor ?? nearest(name.slice(0, 200), current())
    const hint =
      suggestion === undefined ? 'List the models with GET /v1/models.' : `Did you mean ${suggestion}?`
    const message =
      model === undefined
        ? `The model '${name.slice(0, 100)}' does not exist. ${hint}`
        : `The model '${name}' has been retired.${model.successor === undefined ? '' : ` Use ${model.successor} instead.`}`
    throw new ApiError('model_not_found', { param: 'model', message })
  }

  const idOf = (name: string): string | undefined => {
    const model = current().byName.get(name)
    return model === undefined || isRetired(model, now()) ? undefined : model.id
  }

  const servedBy = (endpoint: string) => current().byEndpoint.get(endpoint) ?? []

  const modelFor = <Kind extends ModelConfig['kind']>(
    endpoint: string,
    name: string,
    kind: Kind,
  ): Extract<ModelConfig, { kind: Kind }> => {
    const model = find(name)
    const isOfKind = (each: ModelConfig): each is Extract<ModelConfig, { kind: Kind }> => each.kind === kind
    if (isOfKind(model) && model.endpoints.includes(endpoint)) return model
    const elsewhere = model.endpoints.map((path) => `POST ${path}`).join(' or ')
    const served = servedBy(endpoint).map(({ id }) => id)
    throw new ApiError('invalid_parameter', {
      param: 'model',
      message: `'${name}' is not available on POST ${endpoint}. Use ${elsewhere}, or one of: ${listNames(served, name)}.`,
    })
  }

  return {
    available,
    availableNames: () => current().availableNames(),
    servedBy,
    isAvailable: (id) => idOf(id) === id,
    idOf,
    find,
    usualSeconds: (id) => {
      const model = current().byName.get(id)
      return model?.kind === 'video' ? model.usualSeconds : usualSecondsDefault
    },
    videoModelFor: (endpoint, name) => modelFor(endpoint, name, 'video'),
    transcriptionModelFor: (endpoint, name) => modelFor(endpoint, name, 'transcription'),
    speechModelFor: (endpoint, name) => modelFor(endpoint, name, 'speech'),
  }
}
