import { ApiError } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'
import { FamilyBVideoForm, type FamilyAVideoForm } from '@kinora/contract/videos'
import type { Static } from 'typebox'

import type { Handler } from '../http/call.ts'
import type { Catalog } from '../models/catalog.ts'
import { deprecationHeaders } from '../models/deprecation.ts'
import { assertMayUseModel } from '../models/model-access.ts'
import type { AcceptVideo } from './accept-video.ts'
import { presentCreatedVideo, speaksOpenAi } from './present-video.ts'
import { withPicture, type PictureDependencies } from './reference-picture.ts'
import type { VideoOrder } from './task.ts'

type Form = Static<typeof FamilyAVideoForm> & Partial<Static<typeof FamilyBVideoForm>>

const endpoint = '/v1/videos'

export const createVideo =
  ({
    catalog,
    acceptVideo,
    pictures,
  }: {
    catalog: Catalog
    acceptVideo: AcceptVideo
    pictures: PictureDependencies
  }): Handler<typeof operations.createVideo> =>
  async (call) => {
    const { caller, fields, signal } = call
    const name = fields.value('model')
    if (name === undefined || (typeof name === 'string' && name.trim() === '')) {
      throw new ApiError('missing_parameter', { param: 'model', message: "'model' is required." })
    }
    if (typeof name !== 'string') {
      throw new ApiError('invalid_parameter', { param: 'model', message: "'model' must be text." })
    }
    // An unknown model is 404 for everyone; only then does it matter whether this key may use it.
    catalog.find(name)
    assertMayUseModel(caller, name)
    const model = catalog.videoModelFor(endpoint, name)
    const form = call.read(model.form ?? FamilyBVideoForm) as Form
    const dimensions = model.dimensions[form.size]
    if (dimensions === undefined) throw new Error(`${model.id} has no dimensions for ${form.size}`)
    const order: VideoOrder = {
      prompt: form.prompt,
      seconds: form.seconds,
      size: form.size,
      ...dimensions,
      watermark: form.watermark ?? true,
      isPrivate: form.private ?? false,
      ...(form.style !== undefined && { style: form.style }),
    }
    const onMany = model.family === 'A' ? 'refuse' : 'first'
    const task = await withPicture(pictures, fields, 'input_reference', { onMany, signal }, (stored) =>
      acceptVideo({ caller, model, door: 'videos', order, pictures: stored }),
    )
    return { headers: deprecationHeaders(model), body: presentCreatedVideo(task, speaksOpenAi(call)) }
  }
