import { operations } from '@kinora/contract/operations'

import { createMeasureAudio } from '../audio/measure-audio.ts'
import { createChatAudio } from '../chat/chat-audio.ts'
import { createChatVideo } from '../chat/chat-video.ts'
import { completeChat } from '../chat/complete-chat.ts'
import { createTokenCounter } from '../chat/count-tokens.ts'
import { createRecordingDecoder } from '../chat/decode-recording.ts'
import { createReplyIds } from '../chat/reply-id.ts'
import { bindOperation, type ApiServer } from '../http/server/bind-operation.ts'
import { createCompareDurations } from '../routing/compare-durations.ts'
import type { ApiContext } from './api-context.ts'
import type { VideoTasks } from './videos.ts'

/** Binds the chat operation; `close` ends its threads. */
export const bindChat = (
  server: ApiServer,
  { config, catalog, router, prices, meter, spool, programs, links, postgres, log }: ApiContext,
  { admitVideo, images, readTask, follow, cancelTask }: VideoTasks,
): { close: () => Promise<void> } => {
  const tokens = createTokenCounter()
  const decoder = createRecordingDecoder()
  const chatVideo = createChatVideo({
    admitVideo,
    images,
    readTask,
    follow,
    links,
    cancelTask,
    waitMs: config.CHAT_VIDEO_WAIT_SECONDS * 1000,
  })
  const chatAudio = createChatAudio({
    router,
    prices,
    meter,
    measureAudio: createMeasureAudio({
      programs,
      secondsMax: config.AUDIO_SECONDS_MAX,
    }),
    decoder,
    spool,
    tokens,
    replyIds: createReplyIds(config.LINK_SECRETS),
    compareDurations: createCompareDurations({ database: postgres, log }),
  })

  bindOperation(server, operations.completeChat, completeChat({ catalog, chatVideo, chatAudio }))
  return {
    close: async () => {
      await tokens.close()
      await decoder.close()
    },
  }
}
