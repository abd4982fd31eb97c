/** The request that creates a video: for the endpoint that serves the model, in the names of the API. */
import {
  UnsupportedFunctionalityError,
  type Experimental_VideoModelV4CallOptions as CallOptions,
  type SharedV4Warning,
} from '@ai-sdk/provider'

import type { ModelFacts } from '../model-facts.ts'
import { readOptions } from '../read-options.ts'
import { shutdown, unsupported } from '../warnings.ts'
import { chooseSize, hasRatio } from './choose-size.ts'
import { collectMedia, toFormValue, toUrl, type GivenMedia } from './given-media.ts'
import { videoOptions, type KinoraVideoOptions } from './video-options.ts'

type Parameters = Record<string, unknown>

export interface VideoRequest {
  path: '/videos' | '/video/create'
  body: FormData | Parameters
  idempotencyKey: string | undefined
  warnings: SharedV4Warning[]
}

const toForm = (parameters: Parameters): FormData => {
  const form = new FormData()
  for (const [name, value] of Object.entries(parameters)) {
    if (value instanceof Blob) form.append(name, value)
    else if (Array.isArray(value)) form.append(name, value.join(','))
    else form.append(name, typeof value === 'string' ? value : JSON.stringify(value))
  }
  return form
}

/** The parameters of `POST /v1/videos`. */
const videosParameters = (
  facts: ModelFacts,
  options: CallOptions,
  { images, video }: GivenMedia,
): Parameters => {
  const size = chooseSize(facts.id, facts.sizes ?? [], options)
  const [image] = images
  return {
    ...(options.duration !== undefined && { seconds: options.duration }),
    ...(size !== undefined && { size: size.size }),
    ...(image && { input_reference: toFormValue(image.file) }),
    ...(video && { reference_video: toFormValue(video) }),
  }
}

/** From this many pixels on the shorter side, a frame is a large one. */
const largeFrom = 1080

/** The parameters of `POST /v1/video/create`. Which of them choose the frame depends on the model. */
const createParameters = (
  facts: ModelFacts,
  options: CallOptions,
  { images, video }: GivenMedia,
): Parameters => {
  const frame = chooseSize(facts.id, facts.frames ?? [], options)
  const isLarge = frame !== undefined && Math.min(frame.width, frame.height) >= largeFrom
  const ratio = frame && facts.aspect_ratios?.find((each) => hasRatio(frame, each))
  const durations = facts.durations ?? []
  const { duration } = options
  if (duration !== undefined && !durations.includes(duration)) {
    throw new UnsupportedFunctionalityError({
      functionality: 'duration',
      message: `${facts.id} makes no videos of ${duration} seconds. Its durations are: ${durations.join(', ')}.`,
    })
  }
  return {
    ...(durations.length > 1 && duration !== undefined && { duration }),
    ...(ratio !== undefined && { aspect_ratio: ratio, ...(isLarge && { enable_upsample: true }) }),
    ...(frame !== undefined &&
      facts.aspect_ratios === undefined && {
        orientation: frame.height > frame.width ? 'portrait' : 'landscape',
        size: isLarge ? 'large' : 'small',
      }),
    ...(images.length > 0 && { images: images.map(({ file }) => toUrl(file)) }),
    ...((facts.images?.roles.length ?? 0) > 1 &&
      images.length > 0 && { image_roles: images.map(({ role }) => role) }),
    ...(video && { reference_video: toUrl(video) }),
  }
}

const soundOf = ({ sound, id }: ModelFacts, generateAudio: boolean | undefined) => {
  const parameters: Parameters = {}
  const warnings: SharedV4Warning[] = []
  if (generateAudio === undefined) return { parameters, warnings }
  if (sound === 'optional') parameters['sound'] = generateAudio
  else if (generateAudio !== (sound === 'always'))
    warnings.push(unsupported('generateAudio', `The videos of ${id} ${sound ?? 'may'} have sound.`))
  return { parameters, warnings }
}

const warningsOf = (facts: ModelFacts, { fps, seed, aspectRatio }: CallOptions): SharedV4Warning[] => [
  ...(fps === undefined ? [] : [unsupported('fps', 'The model decides on the frame rate.')]),
  ...(seed === undefined ? [] : [unsupported('seed')]),
  ...(aspectRatio === 'adaptive'
    ? [unsupported('aspectRatio', 'The model decides on the aspect ratio.')]
    : []),
  ...shutdown(facts.id, facts),
]

export const buildVideoRequest = (
  modelId: string,
  facts: ModelFacts,
  options: CallOptions & { webhookUrl?: string },
): VideoRequest => {
  if (options.n > 1) {
    throw new UnsupportedFunctionalityError({
      functionality: 'n',
      message:
        'Kinora makes one video per request. Leave maxVideosPerCall out, and the SDK sends one for each.',
    })
  }
  const { options: own, parameters } = readOptions<KinoraVideoOptions>(options.providerOptions, videoOptions)
  const media = collectMedia(facts.id, facts, options)
  const sound = soundOf(facts, options.generateAudio)
  const serves = (endpoint: string) => facts.endpoints.includes(endpoint)
  const isCreate = serves('/v1/video/create') && (!serves('/v1/videos') || media.images.length > 1)
  if (!isCreate && media.images.length > 1) {
    throw new UnsupportedFunctionalityError({
      functionality: 'images',
      message: `${facts.id} accepts one image at this endpoint, and this call has ${media.images.length}.`,
    })
  }
  const body = {
    model: modelId,
    ...(options.prompt !== undefined && { prompt: options.prompt }),
    ...(isCreate ? createParameters : videosParameters)(facts, options, media),
    ...sound.parameters,
    ...parameters,
    ...(options.webhookUrl !== undefined && { webhook_url: options.webhookUrl }),
  }
  return {
    path: isCreate ? '/video/create' : '/videos',
    body: isCreate ? body : toForm(body),
    idempotencyKey: own.idempotencyKey,
    warnings: [...warningsOf(facts, options), ...media.warnings, ...sound.warnings],
  }
}
