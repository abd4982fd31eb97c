/**
 * The model catalog: every model with its family, endpoints, parameters, price and state. A model of a known family is
 * one row in the file of its family.
 */
import { ApiError } from '@kinora/contract/errors'
import type { Model, ModelEngine } from '@kinora/contract/operations/models'

import { audioModels } from './audio-models.ts'
import type { ModelConfig, SpeechModel, TranscriptionModel, VideoModel } from './model.ts'
import { familyAModels } from './video-family-a.ts'
import { familyBModels } from './video-family-b.ts'

/** The properties of a model that an operator can change at runtime. */
export interface ModelChange {
  state: 'active' | 'deprecated' | 'retired' | undefined
  shutdownDate: string | undefined
  successor: string | undefined
  pricePerSecondMicros: number | undefined
  pricePerMinuteMicros?: number | undefined
  pricePerMillionCharactersMicros?: number | undefined
}

export interface Catalog {
  /** All models that are not retired, in a stable order. */
  available: () => ModelConfig[]
  /** Throws `model_not_found` for an unknown or retired model. The error names the successor of a retired one. */
  find: (id: string) => ModelConfig
  /** Throws `model_not_found`, or `invalid_parameter` if `endpoint` does not serve the model. */
  videoModelFor: (endpoint: string, id: string) => VideoModel
  transcriptionModelFor: (endpoint: string, id: string) => TranscriptionModel
  speechModelFor: (endpoint: string, id: string) => SpeechModel
  /** The usual generation time of a video, for retired and unknown models, too. */
  usualSeconds: (id: string) => number
}

const usualSecondsDefault = 120

const nearest = (id: string, ids: string[]): string | undefined => {
  const plain = (text: string) => text.toLowerCase().replace(/[^a-z0-9]/g, '')
  if (plain(id) === '') return undefined
  return (
    ids.find((other) => plain(other) === plain(id)) ?? ids.find((other) => plain(other).startsWith(plain(id)))
  )
}

const allModels: ModelConfig[] = [...familyAModels, ...familyBModels, ...audioModels]

/** The ids of all models, including retired ones. */
export const knownModels = allModels.map(({ id }) => id)

const changeable = [
  ...(['state', 'shutdownDate', 'successor'] as const),
  ...(['pricePerSecondMicros', 'pricePerMinuteMicros', 'pricePerMillionCharactersMicros'] as const),
]

const changed = (model: ModelConfig, change: Partial<ModelChange> = {}): ModelConfig => {
  const applied = changeable.flatMap((name) => {
    // A price in a unit that this model does not use is ignored.
    const applies = change[name] !== undefined && (!name.startsWith('pricePer') || name in model)
    return applies ? [[name, change[name]] as const] : []
  })
  return { ...model, ...Object.fromEntries(applied) }
}

const unchanged = {}

/** `changes` is called on each access and must return a new object when a change was made. */
export const createCatalog = (changes: () => Record<string, ModelChange> = () => unchanged): Catalog => {
  let applied: Record<string, ModelChange> | undefined
  let cached = new Map<string, ModelConfig>()
  const models = () => {
    const current = changes()
    if (current !== applied) {
      cached = new Map(allModels.map((model) => [model.id, changed(model, current[model.id])]))
      applied = current
    }
    return cached
  }
  const available = () => [...models().values()].filter(({ state }) => state !== 'retired')

  const find = (id: string): ModelConfig => {
    const model = models().get(id)
    if (model !== undefined && model.state !== 'retired') return model
    const suggestion =
      model?.successor ??
      nearest(
        id,
        available().map((other) => other.id),
      )
    const hint =
      suggestion === undefined ? 'List the models with GET /v1/models.' : `Did you mean ${suggestion}?`
    const message =
      model === undefined
        ? `The model '${id.slice(0, 100)}' does not exist. ${hint}`
        : `The model '${id}' has been retired.${model.successor === undefined ? '' : ` Use ${model.successor} instead.`}`
    throw new ApiError('model_not_found', { param: 'model', message })
  }

  const modelFor = <Kind extends ModelConfig['kind']>(
    endpoint: string,
    id: string,
    kind: Kind,
  ): Extract<ModelConfig, { kind: Kind }> => {
    const model = find(id)
    const isOfKind = (each: ModelConfig): each is Extract<ModelConfig, { kind: Kind }> => each.kind === kind
    if (isOfKind(model) && model.endpoints.includes(endpoint)) return model
    const served = available().flatMap((other) => (other.endpoints.includes(endpoint) ? other.id : []))
    const elsewhere = model.endpoints.map((path) => `POST ${path}`).join(' or ')
    throw new ApiError('invalid_parameter', {
      param: 'model',
      message: `'${id}' is not available on POST ${endpoint}. Use ${elsewhere}, or one of: ${served.join(', ')}.`,
    })
  }

  return {
    available,
    find,
    usualSeconds: (id) => {
      const model = models().get(id)
      return model?.kind === 'video' ? model.usualSeconds : usualSecondsDefault
    },
    videoModelFor: (endpoint, id) => modelFor(endpoint, id, 'video'),
    transcriptionModelFor: (endpoint, id) => modelFor(endpoint, id, 'transcription'),
    speechModelFor: (endpoint, id) => modelFor(endpoint, id, 'speech'),
  }
}

/** The engines that currently serve the models, as far as their providers report it. */
export type ModelEngines = () => Promise<Map<string, ModelEngine>>

export const presentModel = (model: ModelConfig, engine: ModelEngine | undefined): Model => ({
  id: model.id,
  object: 'model',
  created: model.created,
  owned_by: 'kinora',
  endpoints: model.endpoints,
  ...('voices' in model && { voices: model.voices }),
  ...(engine !== undefined && { engine }),
  ...(model.shutdownDate !== undefined && { shutdown_date: model.shutdownDate }),
})
