import { ApiError } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../http/call.ts'
import type { Catalog } from '../models/catalog.ts'
import { chooseModel } from '../models/choose-model.ts'
import type { ChatVideo } from './chat-video.ts'

const endpoint = '/v1/chat/completions'

/** One door for every model that is talked to; what is behind it depends on the model. */
export const completeChat =
  ({
    catalog,
    chatVideo,
  }: {
    catalog: Catalog
    chatVideo: ChatVideo
  }): Handler<typeof operations.completeChat> =>
  async (call) => {
    const model = chooseModel(catalog, call.caller, call.fields.value('model'))
    if (model.kind === 'chat') {
      throw new ApiError('invalid_parameter', {
        param: 'model',
        message: `'${model.id}' is not served yet.`,
      })
    }
    return chatVideo(call, catalog.videoModelFor(endpoint, model.id))
  }
