import type { Model, ModelEngine } from '@kinora/contract/operations/models'

import type { Catalog } from './catalog.ts'
import { frameSize, type ModelConfig, type VideoModel } from './model.ts'
import type { PriceRule } from './price-rule.ts'
import { voiceNames } from './voice.ts'

/** The engines that currently serve these models, as far as their providers report it. */
export type ModelEngines = (models: ModelConfig[]) => Promise<Map<string, ModelEngine>>

/** The prices in force of a model. */
type PricesOf = (model: ModelConfig) => PriceRule[]

/** What the operations that show models need. */
export interface ModelViews {
  catalog: Catalog
  engines: ModelEngines
  pricesOf: PricesOf
}

const secondsOf = ({ seconds }: VideoModel): NonNullable<Model['seconds']> =>
  Array.isArray(seconds)
    ? { values: seconds, min: Math.min(...seconds), max: Math.max(...seconds) }
    : { values: null, min: seconds.least, max: seconds.most }

/** What a valid request needs, by the endpoints that serve the model. */
const parametersOf = (model: VideoModel): Partial<Model> => ({
  ...(model.endpoints.includes('/v1/videos') && {
    seconds: secondsOf(model),
    sizes: Object.entries(model.sizes).map(([size, dimensions]) => ({ size, ...dimensions })),
  }),
  ...(model.endpoints.includes('/v1/video/create') && {
    durations: model.durations,
    frames: model.frames.map((frame) => ({ size: frameSize(frame), ...frame })),
  }),
  ...(model.aspectRatios.length > 0 && { aspect_ratios: model.aspectRatios }),
  images: { max: model.imagesMax, roles: model.imageRoles },
  reference_video: model.usesVideo,
  reference_audio: model.usesAudio,
  sound: model.sound,
})

export const presentModel = (
  model: ModelConfig,
  {
    engine,
    prices,
    currency,
  }: { engine: ModelEngine | undefined; prices: ReturnType<PricesOf>; currency: string },
): Model => ({
  id: model.name,
  object: 'model',
  created: model.created,
  owned_by: model.ownedBy,
  kind: model.kind,
  ...(model.description !== undefined && { description: model.description }),
  ...(model.name !== model.id && { alias_of: model.id }),
  aliases: Object.keys(model.aliases),
  endpoints: model.endpoints,
  ...(model.kind === 'video' && parametersOf(model)),
  ...('voices' in model && { voices: voiceNames(model.voices) }),
  prices: prices.map(({ unit, unitMicros, resolution, sound, input }) => ({
    ...{ unit, unit_micros: unitMicros, currency, resolution, sound, input },
  })),
  ...(engine !== undefined && { engine }),
  state: model.state === 'deprecated' ? 'deprecated' : 'active',
  ...(model.shutdownDate !== undefined && { shutdown_date: model.shutdownDate }),
  ...(model.successor !== undefined && { successor: model.successor }),
})
