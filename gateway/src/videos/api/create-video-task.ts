import { ApiError } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'
import type { ImageRole } from '@kinora/contract/operations/video-fields'
import type { FamilyAVideoTask, FamilyBVideoTask } from '@kinora/contract/operations/video-tasks'
import type { Static } from 'typebox'

import type { Handler } from '../../http/call.ts'
import { readMetadata } from '../../metadata/read-metadata.ts'
import type { Catalog } from '../../models/catalog.ts'
import { chooseVideoModel } from '../../models/choose-model.ts'
import { deprecationHeaders } from '../../models/deprecation.ts'
import { findFrame, type Orientation, type Quality } from '../../models/frame.ts'
import { frameSize, type VideoModel } from '../../models/model.ts'
import type { TaskWebhooks } from '../../tasks/requested-webhook.ts'
import { clipsOf } from '../images/reference-clip.ts'
import { imagesInList, tryImages, withImages } from '../images/reference-image.ts'
import type { ImageDependencies } from '../images/stored-image.ts'
import type { PromptEnhancer } from '../prompts/enhance-prompt.ts'
import type { AdmitVideo } from '../queue/admit-video.ts'
import { readCharacterRequest, type WithCharacter } from '../requested-character.ts'
import type { VideoOrder, VideoTask } from '../task.ts'
import { presentCreatedVideoTask } from './present-video.ts'
import { videoTaskParameters } from './video-parameters.ts'

type FormA = Static<typeof FamilyAVideoTask>
type FormB = Static<typeof FamilyBVideoTask>
type Form = FormA & Partial<FormB>

const endpoint = '/v1/video/create'

/** Requested values that choose the frame, each with its parameter. */
interface WantedFrame {
  quality: { param: string; value: Quality } | undefined
  orientation: { param: string; value: Orientation } | undefined
}

/** The frame that the request wants. The model may not make each quality in each orientation. */
const frameFor = (model: VideoModel, { quality, orientation }: WantedFrame) => {
  const frame = findFrame(model, { quality: quality?.value, orientation: orientation?.value })
  if (frame !== undefined) return frame
  // Blame the orientation if the model has it in no quality.
  const isQuality = orientation === undefined || findFrame(model, { orientation: orientation.value })
  const param = (isQuality ? quality : orientation)?.param ?? 'size'
  const wanted = [quality?.value, orientation?.value].filter((each) => each !== undefined).join(' ')
  throw new ApiError('invalid_parameter', {
    param,
    message: `'${model.name}' makes no ${wanted} videos, only ${model.frames.map(frameSize).join(', ')}. Change or leave out '${param}'.`,
  })
}

/** This parameter set has no watermark option, so there is no watermark. */
const orderOfFamilyA = (form: FormA, model: VideoModel): VideoOrder => {
  const { aspect_ratio: ratio } = form
  return {
    prompt: form.prompt,
    seconds: model.durations[0],
    ...frameFor(model, {
      quality: form.enable_upsample === true ? { param: 'enable_upsample', value: 'large' } : undefined,
      orientation:
        ratio === undefined
          ? undefined
          : { param: 'aspect_ratio', value: ratio === '9:16' ? 'portrait' : 'landscape' },
    }),
    watermark: false,
    isPrivate: false,
  }
}

const orderOfFamilyB = (form: Omit<FormB, 'images'>, model: VideoModel): VideoOrder => {
  const { size, orientation } = form
  return {
    prompt: form.prompt,
    seconds: form.duration ?? model.durations[0],
    ...frameFor(model, {
      quality: size === undefined ? undefined : { param: 'size', value: size as Quality },
      orientation:
        orientation === undefined ? undefined : { param: 'orientation', value: orientation as Orientation },
    }),
    watermark: form.watermark ?? true,
    isPrivate: form.private ?? false,
  }
}

const invalidRoles = (message: string) =>
  new ApiError('invalid_parameter', { param: 'image_roles', message: `'image_roles' ${message}` })

/** The requested role of each image; none if the model leaves no choice. */
const readImageRoles = (
  value: unknown,
  images: number,
  { name, imageRoles }: VideoModel,
): Pick<VideoOrder, 'imageRoles'> => {
  if (value === undefined || imageRoles.length < 2) return {}
  if (!Array.isArray(value) || value.length !== images) {
    throw invalidRoles(`must be a list with one role for each of the ${images} images.`)
  }
  const roles = value.map((each: unknown) => {
    const role = imageRoles.find((known) => known === each)
    if (role !== undefined) return role
    throw invalidRoles(`may have ${imageRoles.join(', ')} for '${name}'.`)
  })
  const count = (role: ImageRole) => roles.filter((each) => each === role).length
  if (count('first_frame') > 1 || count('last_frame') > 1) {
    throw invalidRoles(`may have 'first_frame' and 'last_frame' only once.`)
  }
  if (count('last_frame') > count('first_frame')) {
    throw invalidRoles(`must have a 'first_frame' if it has a 'last_frame'.`)
  }
  return roles.length === 0 ? {} : { imageRoles: roles }
}

export const createVideoTask =
  ({
    catalog,
    admitVideo,
    images,
    enhancer,
    withCharacter,
    readWebhook,
  }: {
    catalog: Catalog
    admitVideo: AdmitVideo
    images: ImageDependencies
    enhancer: PromptEnhancer
    withCharacter: WithCharacter
    readWebhook: TaskWebhooks['read']
  }): Handler<typeof operations.createVideoTask> =>
  async (call) => {
    const { caller, fields } = call
    const model = chooseVideoModel(catalog, caller, endpoint, fields.value('model'))
    const form = call.read(videoTaskParameters(model)) as Form
    const webhook = readWebhook('video', form.webhook_url, fields)
    const sources = await imagesInList(fields.value('images'), 'images', model.imagesMax, call.longText)
    if (sources.length === 0 && model.family === 'B' && model.imagesMax > 0) {
      throw new ApiError('missing_parameter', { param: 'images', message: "'images' is required." })
    }
    const references = [...sources, ...clipsOf(call, model, images.measureClip)]
    const enhance = form.enhance_prompt === true && enhancer.canEnhance(form.prompt)
    if (form.enhance_prompt === true && !enhance) call.ignore('enhance_prompt')
    const metadata = readMetadata(fields.value('metadata'))
    const order: VideoOrder = {
      ...(model.family === 'A' ? orderOfFamilyA(form, model) : orderOfFamilyB(form, model)),
      ...readImageRoles(fields.value('image_roles'), sources.length, model),
      ...(form.sound !== undefined && { sound: form.sound }),
      ...(enhance && { enhance }),
      ...(metadata !== undefined && { metadata }),
    }
    const characterRequest = model.family === 'B' ? readCharacterRequest(form, fields) : undefined
    const admission = { caller, model, createdVia: 'create', order, webhook } as const
    const headers = deprecationHeaders(model, call)
    if (call.wantsQuote) {
      await withCharacter.check(call, characterRequest)
      return tryImages(images, references, call, async (stored) => ({
        headers,
        body: await admitVideo.quote({ ...admission, images: stored }),
      }))
    }
    const overload = admitVideo.overloadOf(model, caller.accountId)
    if (overload !== undefined) throw overload
    const responseOf = (task: VideoTask) => ({ headers, body: presentCreatedVideoTask(task) })
    const responseToStore = (task: VideoTask) => call.responseToStore(task.id, responseOf(task))
    const task = await withCharacter(call, characterRequest, (character) =>
      withImages(images, references, call, (stored) =>
        admitVideo({ ...admission, images: stored, character, responseToStore }),
      ),
    )
    return responseOf(task)
  }
