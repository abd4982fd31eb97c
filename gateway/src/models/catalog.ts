/**
 * What is offered: every model with its family, the endpoints that take it, its parameter set, price and
 * state. A model of a known family is one row in its family's file.
 */
import { ApiError } from '@kinora/contract/errors'
import type { Model, ModelEngine } from '@kinora/contract/operations/models'

import { audioModels } from './audio-models.ts'
import type { ModelConfig, SpeechModel, TranscriptionModel, VideoModel } from './model.ts'
import { familyAModels } from './video-family-a.ts'
import { familyBModels } from './video-family-b.ts'

/** What an operator may change about a model without changing the code. */
export interface ModelChange {
  state: 'active' | 'deprecated' | 'retired' | undefined
  shutdownDate: string | undefined
  successor: string | undefined
  pricePerSecondMicros: number | undefined
  pricePerMinuteMicros?: number | undefined
  pricePerMillionCharactersMicros?: number | undefined
}

export interface Catalog {
  /** Every model that can be used, in a stable order. */
  available: () => ModelConfig[]
  /** The model, or 404; a retired one is as good as unknown, but its successor is named. */
  find: (id: string) => ModelConfig
  /** The model as one that `endpoint` takes, or the right 404 or 400. */
  videoModelFor: (endpoint: string, id: string) => VideoModel
  transcriptionModelFor: (endpoint: string, id: string) => TranscriptionModel
  speechModelFor: (endpoint: string, id: string) => SpeechModel
  /** How long a video of this model usually takes, whatever became of the model since. */
  usualSeconds: (id: string) => number
}

const usualSecondsOfAny = 120

const nearest = (id: string, ids: string[]): string | undefined => {
  const plain = (text: string) => text.toLowerCase().replace(/[^a-z0-9]/g, '')
  if (plain(id) === '') return undefined
  return (
    ids.find((other) => plain(other) === plain(id)) ?? ids.find((other) => plain(other).startsWith(plain(id)))
  )
}

const allModels: ModelConfig[] = [...familyAModels, ...familyBModels, ...audioModels]

/** Every model there is, whatever its state. */
export const knownModels = allModels.map(({ id }) => id)

const changeable = [
  ...(['state', 'shutdownDate', 'successor'] as const),
  ...(['pricePerSecondMicros', 'pricePerMinuteMicros', 'pricePerMillionCharactersMicros'] as const),
]

const changed = (entry: ModelConfig, change: Partial<ModelChange> = {}): ModelConfig => {
  const known = changeable.flatMap((name) => {
    // A price in units this model is not sold by says nothing about it.
    const says = change[name] !== undefined && (!name.startsWith('pricePer') || name in entry)
    return says ? [[name, change[name]] as const] : []
  })
  return { ...entry, ...Object.fromEntries(known) }
}

const unchanged = {}

/** `changes` is asked again and again, and answers another object once anything in it is different. */
export const createCatalog = (changes: () => Record<string, ModelChange> = () => unchanged): Catalog => {
  let seen: Record<string, ModelChange> | undefined
  let made = new Map<string, ModelConfig>()
  const entries = () => {
    const now = changes()
    if (now !== seen) {
      made = new Map(allModels.map((entry) => [entry.id, changed(entry, now[entry.id])]))
      seen = now
    }
    return made
  }
  const available = () => [...entries().values()].filter(({ state }) => state !== 'retired')

  const find = (id: string): ModelConfig => {
    const entry = entries().get(id)
    if (entry !== undefined && entry.state !== 'retired') return entry
    const instead =
      entry?.successor ??
      nearest(
        id,
        available().map((other) => other.id),
      )
    const hint = instead === undefined ? 'List the models with GET /v1/models.' : `Did you mean ${instead}?`
    const message =
      entry === undefined
        ? `The model '${id.slice(0, 100)}' does not exist. ${hint}`
        : `The model '${id}' has been retired.${entry.successor === undefined ? '' : ` Use ${entry.successor} instead.`}`
    throw new ApiError('model_not_found', { param: 'model', message })
  }

  const modelFor = <Kind extends ModelConfig['kind']>(
    endpoint: string,
    id: string,
    kind: Kind,
  ): Extract<ModelConfig, { kind: Kind }> => {
    const entry = find(id)
    const isOfKind = (each: ModelConfig): each is Extract<ModelConfig, { kind: Kind }> => each.kind === kind
    if (isOfKind(entry) && entry.endpoints.includes(endpoint)) return entry
    const served = available().flatMap((other) => (other.endpoints.includes(endpoint) ? other.id : []))
    throw new ApiError('invalid_parameter', {
      param: 'model',
      message: `'${id}' is not served by ${endpoint}; it takes ${served.join(', ')}.`,
    })
  }

  return {
    available,
    find,
    usualSeconds: (id) => {
      const entry = entries().get(id)
      return entry?.kind === 'video' ? entry.usualSeconds : usualSecondsOfAny
    },
    videoModelFor: (endpoint, id) => modelFor(endpoint, id, 'video'),
    transcriptionModelFor: (endpoint, id) => modelFor(endpoint, id, 'transcription'),
    speechModelFor: (endpoint, id) => modelFor(endpoint, id, 'speech'),
  }
}

/** Which engine answers each model now, for those whose provider tells. */
export type ModelEngines = () => Promise<Map<string, ModelEngine>>

export const presentModel = (entry: ModelConfig, engine: ModelEngine | undefined): Model => ({
  id: entry.id,
  object: 'model',
  created: entry.created,
  owned_by: 'kinora',
  endpoints: entry.endpoints,
  ...('voices' in entry && { voices: entry.voices }),
  ...(engine !== undefined && { engine }),
  ...(entry.shutdownDate !== undefined && { shutdown_date: entry.shutdownDate }),
})
