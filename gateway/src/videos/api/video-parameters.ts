import { RemixBody } from '@kinora/contract/operations/remixes'
/** The parameters of the endpoints that create videos: those of the model's family, with the values that the model allows. */
import { FamilyAVideoTask, FamilyBVideoTask } from '@kinora/contract/operations/video-tasks'
import { FamilyAVideoForm, FamilyBVideoForm, openAiVideoDefaults } from '@kinora/contract/operations/videos'
import { Type, type TObject, type TProperties } from 'typebox'

import type { VideoModel } from '../../models/model.ts'

const text = (values: string[], options: { default?: string } = {}) =>
  Type.String({ enum: values, ...options })

const wholeSeconds = (seconds: VideoModel['seconds'], options: { default?: number } = {}) =>
  Type.Integer({
    ...(Array.isArray(seconds) ? { enum: seconds } : { minimum: seconds.least, maximum: seconds.most }),
    ...options,
  })

const allowsSeconds = ({ seconds }: VideoModel, given: number) =>
  Array.isArray(seconds) ? seconds.includes(given) : given >= seconds.least && given <= seconds.most

const onceForEach = (make: (model: VideoModel) => TObject) => {
  const made = new WeakMap<VideoModel, TObject>()
  return (model: VideoModel): TObject => {
    const known = made.get(model) ?? make(model)
    made.set(model, known)
    return known
  }
}

/** Without the parameters for which the model leaves no choice. They count as unknown, so callers learn that they had no effect. */
const withoutMissing = (model: VideoModel, properties: TProperties): TProperties => {
  const missing = [
    ...(model.sound === 'optional' ? [] : ['sound']),
    ...(model.usesVideo ? [] : ['reference_video']),
    ...(model.usesAudio ? [] : ['reference_audio']),
    ...(model.imageRoles.length > 1 && model.imagesMax > 0 ? [] : ['image_roles']),
  ]
  return Object.fromEntries(Object.entries(properties).filter(([name]) => !missing.includes(name)))
}

/** `POST /v1/videos`. */
export const videoParameters = onceForEach((model) => {
  const { properties } = model.family === 'A' ? FamilyAVideoForm : FamilyBVideoForm
  return Type.Object({
    ...withoutMissing(model, properties),
    // The images are read separately, which refuses one that the model does not accept.
    ...(model.imagesMax === 0 && { input_reference: Type.Optional(properties.input_reference) }),
    seconds: wholeSeconds(model.seconds),
    size: text(Object.keys(model.sizes)),
  })
})

/** `POST /openai/v1/videos`. A parameter whose default the model does not allow stays required. */
export const openAiVideoParameters = onceForEach((model) => {
  const { seconds, size } = openAiVideoDefaults
  const sizes = Object.keys(model.sizes)
  return Type.Object({
    ...videoParameters(model).properties,
    model: Type.Optional(FamilyBVideoForm.properties.model),
    ...(allowsSeconds(model, seconds) && {
      seconds: Type.Optional(wholeSeconds(model.seconds, { default: seconds })),
    }),
    ...(sizes.includes(size) && { size: Type.Optional(text(sizes, { default: size })) }),
  })
})

/** `POST /v1/video/create`. A model without a choice of aspect ratios has no such parameter. */
export const videoTaskParameters = onceForEach((model) => {
  if (model.family === 'A') {
    const { aspect_ratio: _, ...others } = FamilyAVideoTask.properties
    const properties = withoutMissing(model, others)
    if (model.aspectRatios.length === 0) return Type.Object(properties)
    return Type.Object({ ...properties, aspect_ratio: Type.Optional(text(model.aspectRatios)) })
  }
  const { properties } = FamilyBVideoTask
  return Type.Object({
    ...withoutMissing(model, properties),
    ...(model.imagesMax === 0 && { images: Type.Optional(properties.images) }),
    // Without the defaults of the family, because a model need not make every frame.
    orientation: Type.Optional(text(['portrait', 'landscape'])),
    size: Type.Optional(text(['small', 'large'])),
    duration: Type.Optional(wholeSeconds(model.durations)),
  })
})

/** `POST /v1/videos/{id}/remix`. */
export const remixParameters = (model: VideoModel) =>
  Type.Object({
    ...RemixBody.properties,
    size: Type.Optional(text(Object.keys(model.sizes))),
  })
