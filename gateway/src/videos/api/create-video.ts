import { ApiError } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'
import {
  openAiVideoDefaults,
  type FamilyAVideoForm,
  type FamilyBVideoForm,
} from '@kinora/contract/operations/videos'
import type { Static } from 'typebox'

import type { Call, Handler } from '../../http/call.ts'
import { readMetadata } from '../../metadata/read-metadata.ts'
import type { Catalog } from '../../models/catalog.ts'
import { chooseVideoModel } from '../../models/choose-model.ts'
import { deprecationHeaders } from '../../models/deprecation.ts'
import type { TaskWebhooks } from '../../tasks/requested-webhook.ts'
import { clipsOf } from '../images/reference-clip.ts'
import { imagesOf, tryImages, withImages } from '../images/reference-image.ts'
import type { ImageDependencies } from '../images/stored-image.ts'
import type { AdmitVideo } from '../queue/admit-video.ts'
import { readCharacterRequest, type WithCharacter } from '../requested-character.ts'
import type { VideoOrder, VideoTask } from '../task.ts'
import { dialectOf, presentCreatedVideo } from './present-video.ts'
import { openAiVideoParameters, videoParameters } from './video-parameters.ts'

type Form = Static<typeof FamilyAVideoForm> & Partial<Static<typeof FamilyBVideoForm>>

const endpoint = '/v1/videos'

/** The model of the request. Under `/openai/v1` the default of the SDKs applies, if this installation has that name. */
const givenModel = (catalog: Catalog, { fields, isUnderOpenAi }: Pick<Call, 'fields' | 'isUnderOpenAi'>) => {
  const given = fields.value('model')
  if (!isUnderOpenAi || given !== undefined) return given
  const { model: name } = openAiVideoDefaults
  try {
    catalog.find(name)
    return name
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    throw new ApiError('model_not_found', {
      param: 'model',
      message: `The request has no 'model', so the default of the openai SDKs applies. ${error.message} An operator can give a model this name with 'aliases'.`,
      cause: error,
    })
  }
}

export const createVideo =
  ({
    catalog,
    admitVideo,
    images,
    withCharacter,
    readWebhook,
  }: {
    catalog: Catalog
    admitVideo: AdmitVideo
    images: ImageDependencies
    withCharacter: WithCharacter
    readWebhook: TaskWebhooks['read']
  }): Handler<typeof operations.createVideo> =>
  async (call) => {
    const { caller, fields } = call
    const model = chooseVideoModel(catalog, caller, endpoint, givenModel(catalog, call))
    const parameters = call.isUnderOpenAi ? openAiVideoParameters(model) : videoParameters(model)
    const form = call.read(parameters) as Form
    const webhook = readWebhook('video', form.webhook_url, fields)
    const dimensions = model.sizes[form.size]
    if (dimensions === undefined) throw new Error(`${model.name} has no size ${form.size}`)
    const metadata = readMetadata(fields.value('metadata'))
    const order: VideoOrder = {
      prompt: form.prompt,
      seconds: form.seconds,
      size: form.size,
      ...dimensions,
      watermark: form.watermark ?? true,
      isPrivate: form.private ?? false,
      ...(form.style !== undefined && { style: form.style }),
      ...(form.sound !== undefined && { sound: form.sound }),
      ...(metadata !== undefined && { metadata }),
    }
    const given = await imagesOf(call, 'input_reference')
    if (given.length > 0 && model.imagesMax === 0) {
      throw new ApiError('invalid_parameter', {
        param: 'input_reference',
        message: `'${model.name}' accepts no images. Leave out 'input_reference'.`,
      })
    }
    const references = [...given.slice(0, 1), ...clipsOf(call, model, images.measureClip)]
    if (model.family === 'A' && fields.isRepeated('input_reference')) {
      throw new ApiError('invalid_parameter', {
        param: 'input_reference',
        message: `'input_reference' was given more than once. ${model.name} accepts one image.`,
      })
    }
    const characterRequest = model.family === 'B' ? readCharacterRequest(form, fields) : undefined
    if (characterRequest === undefined && fields.value('character_create') !== undefined)
      call.ignore('character_create')
    const admission = { caller, model, createdVia: 'videos', order, webhook } as const
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
    const responseOf = (task: VideoTask) => ({ headers, body: presentCreatedVideo(task, dialectOf(call)) })
    const responseToStore = (task: VideoTask) => call.responseToStore(task.id, responseOf(task))
    const task = await withCharacter(call, characterRequest, (character) =>
      withImages(images, references, call, (stored) =>
        admitVideo({ ...admission, images: stored, character, responseToStore }),
      ),
    )
    return responseOf(task)
  }
