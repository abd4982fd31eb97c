import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../http/call.ts'
import type { LinkSigner } from '../storage/signed-link.ts'
import { presentVideo, speaksOpenAi } from './present-video.ts'
import type { ReadTask } from './read-task.ts'
import { isFinal } from './task.ts'

const pollAfterMs = '1000'

export const getVideo =
  ({ readTask, links }: { readTask: ReadTask; links: LinkSigner }): Handler<typeof operations.getVideo> =>
  async (call) => {
    const task = await readTask(call.path['id'] ?? '', call.caller.accountId)
    // The link is made anew on each read, so it never runs out while the video is kept.
    const videoUrl = task.mediaId === null ? null : links.link(task.mediaId, 'video.mp4')
    return {
      headers: {
        vary: 'Accept, X-API-Dialect',
        ...(!isFinal(task.state) && { 'openai-poll-after-ms': pollAfterMs }),
        ...(task.mediaExpiresAt !== null && { 'x-media-expires-at': task.mediaExpiresAt.toISOString() }),
      },
      body: presentVideo(task, videoUrl, speaksOpenAi(call)),
    }
  }
