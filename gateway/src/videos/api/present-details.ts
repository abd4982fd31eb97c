import type { VideoDetails } from '@kinora/contract/operations/video-fields'
import { videoVariants } from '@kinora/contract/operations/video-fields'

import type { Estimate } from '../queue/estimate-task.ts'
import type { ListedTask } from '../task-store.ts'
import { presentEstimate } from './present-video.ts'

const unixSeconds = (date: Date) => Math.floor(date.getTime() / 1000)

/** What a row of a list shows besides the video. */
export const presentDetails = (
  task: Pick<
    ListedTask,
    'order' | 'keyId' | 'holdMicros' | 'capturedMicros' | 'state' | 'statusUpdatedAt' | 'mediaExpiresAt'
  >,
  currency: string,
  estimate: Estimate,
): VideoDetails => {
  const { state, mediaExpiresAt } = task
  const isExpired = mediaExpiresAt !== null && mediaExpiresAt.getTime() <= Date.now()
  return {
    prompt: task.order.prompt,
    key_id: task.keyId,
    hold_micros: task.holdMicros,
    captured_micros: task.capturedMicros,
    currency,
    completed_at: state === 'completed' ? unixSeconds(task.statusUpdatedAt) : null,
    expires_at: mediaExpiresAt === null ? null : unixSeconds(mediaExpiresAt),
    variants: state === 'completed' && !isExpired ? [...videoVariants] : [],
    ...presentEstimate(estimate),
  }
}
