import { ApiError } from '@kinora/contract/errors'

import type { VideoTask } from '../task.ts'

/** The video of a task that something is to be made from, or why there is none. */
export const mediaIdOf = (
  { state, mediaId, mediaExpiresAt }: Pick<VideoTask, 'state' | 'mediaId' | 'mediaExpiresAt'>,
  param?: string,
): string => {
  const named = param === undefined ? {} : { param }
  if (state === 'failed') throw new ApiError('task_failed', named)
  if (state !== 'completed' || mediaId === null) throw new ApiError('task_not_completed', named)
  // A file without an end is not one of ours any more: results always have one.
  if (mediaExpiresAt === null || mediaExpiresAt.getTime() <= Date.now()) {
    throw new ApiError('media_expired', named)
  }
  return mediaId
}
