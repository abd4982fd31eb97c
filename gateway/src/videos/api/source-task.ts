import { ApiError } from '@kinora/contract/errors'

import { assertUnexpired } from '../../storage/send-file.ts'
import type { VideoTask } from '../task.ts'

/** The id of a task's video, for use as a source. Throws if there is none. */
export const mediaIdOf = (
  { state, mediaId, mediaExpiresAt }: Pick<VideoTask, 'state' | 'mediaId' | 'mediaExpiresAt'>,
  param?: string,
): string => {
  const named = param === undefined ? {} : { param }
  if (state === 'failed') throw new ApiError('task_failed', named)
  if (state !== 'completed' || mediaId === null) throw new ApiError('task_not_completed', named)
  // Stored results always have an expiry; without one the file was deleted.
  if (mediaExpiresAt === null) throw new ApiError('media_expired', named)
  assertUnexpired(mediaExpiresAt, param)
  return mediaId
}
