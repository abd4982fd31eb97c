import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../http/call.ts'
import type { Catalog } from '../models/catalog.ts'
import { chooseModel } from '../models/choose-model.ts'
import type { ChatAudio } from './chat-audio.ts'
import type { ChatVideo } from './chat-video.ts'

const endpoint = '/v1/chat/completions'

/** Dispatches a chat request to audio chat or to video generation, depending on its model. */
export const completeChat =
  ({
    catalog,
    chatVideo,
    chatAudio,
  }: {
    catalog: Catalog
    chatVideo: ChatVideo
    chatAudio: ChatAudio
  }): Handler<typeof operations.completeChat> =>
  async (call) => {
    const model = chooseModel(catalog, call.caller, call.fields.value('model'))
    return model.kind === 'chat'
      ? chatAudio(call, model)
      : chatVideo(call, catalog.videoModelFor(endpoint, model.name))
  }
