/** The API representations of a task. `/v1/videos` has one for all families; the dialect determines its types. */
import type { OpenAiVideo, Video, VideoStatus } from '@kinora/contract/operations/video-fields'
import type { CreatedVideoTask, VideoTaskView } from '@kinora/contract/operations/video-tasks'

import type { Call } from '../../http/call.ts'
import type { LinkSigner } from '../../storage/signed-link.ts'
import type { Estimate } from '../queue/estimate-task.ts'
import type { VideoTask } from '../task.ts'

/**
 * `openai-status`: the status names of the openai client libraries, whose poll helpers know no others · `openai`: under
 * `/openai/v1`, also the fields that the openai client declares.
 */
export type Dialect = 'reference' | 'openai-status' | 'openai'

export const dialectOf = ({
  header,
  caller,
  isUnderOpenAi,
}: Pick<Call, 'header' | 'caller' | 'isUnderOpenAi'>): Dialect => {
  if (isUnderOpenAi) return 'openai'
  const hasOpenAiStatus =
    header('x-stainless-poll-helper') === 'true' || (header('x-api-dialect') ?? caller.dialect) === 'openai'
  return hasOpenAiStatus ? 'openai-status' : 'reference'
}

const openAiStatus: Record<VideoStatus, string> = {
  pending: 'queued',
  processing: 'in_progress',
  completed: 'completed',
  failed: 'failed',
}

const statusName = (state: VideoStatus, dialect: Dialect): string =>
  dialect === 'reference' ? state : openAiStatus[state]

/** A newly signed link to the task's video; null if there is none. */
export const videoUrlOf = (links: Pick<LinkSigner, 'link'>, mediaId: string | null): string | null =>
  mediaId === null ? null : links.link(mediaId, 'video.mp4')

const unixSeconds = (date: Date) => Math.floor(date.getTime() / 1000)

/** The fields of an estimate; unknown ones are absent. */
export const presentEstimate = ({ queuePosition, timeLeftSeconds }: Estimate) => ({
  ...(queuePosition !== undefined && { queue_position: queuePosition }),
  ...(timeLeftSeconds !== undefined && { time_left_seconds: timeLeftSeconds }),
})

/** A provider's response was lost. Nothing in it is about the provider. */
const noticeOf = ({ outcomeUnknownUntil = null }: VideoTask) =>
  outcomeUnknownUntil === null
    ? {}
    : {
        notice: {
          code: 'response_lost',
          message:
            'The response to the generation request was lost, so it is not known whether the video is being made. If it does not arrive by `until`, the task fails and costs nothing.',
          until: unixSeconds(outcomeUnknownUntil),
        },
      }

const failureOf = ({ errorCode, errorMessage }: VideoTask) =>
  errorCode === null ? {} : { error: { code: errorCode, message: errorMessage ?? '' } }

/** A video, wherever `/v1/videos` shows one. The estimate is only in events and under `/openai/v1`. */
export const presentVideo = (
  task: VideoTask,
  videoUrl: string | null,
  dialect: Dialect,
  estimate: Estimate = {},
): Video | OpenAiVideo => {
  const { order } = task
  const video: Video = {
    id: task.id,
    object: 'video',
    model: task.modelName,
    status: statusName(task.state, dialect),
    progress: task.progress,
    created_at: unixSeconds(task.createdAt),
    seconds: order.seconds,
    size: order.size,
    video_url: videoUrl,
    enhanced_prompt: task.enhancedPrompt,
    status_update_time: unixSeconds(task.statusUpdatedAt),
    remixed_from_video_id: order.remixOf?.taskId ?? null,
    metadata: order.metadata ?? {},
    ...failureOf(task),
    ...noticeOf(task),
  }
  if (dialect !== 'openai') return video
  return {
    ...video,
    completed_at: task.state === 'completed' ? unixSeconds(task.statusUpdatedAt) : null,
    expires_at: task.mediaExpiresAt === null ? null : unixSeconds(task.mediaExpiresAt),
    prompt: order.prompt,
    seconds: String(order.seconds),
    error: video.error ?? null,
    ...presentEstimate(estimate),
  }
}

/** The response to a create. In family A, the reference has another name for the first status there. */
export const presentCreatedVideo = (task: VideoTask, dialect: Dialect): Video | OpenAiVideo => ({
  ...presentVideo(task, null, dialect),
  ...(task.family === 'A' && { status: 'queued' }),
})

/** `/v1/video/create` and `/v1/video/query` have one shape for both families and no dialects. */
export const presentCreatedVideoTask = (task: VideoTask): CreatedVideoTask => ({
  id: task.id,
  status: task.state,
  status_update_time: unixSeconds(task.statusUpdatedAt),
  enhanced_prompt: task.enhancedPrompt,
})

export const presentVideoTask = (task: VideoTask, videoUrl: string | null): VideoTaskView => ({
  id: task.id,
  status: task.state,
  video_url: videoUrl,
  enhanced_prompt: task.enhancedPrompt,
  status_update_time: unixSeconds(task.statusUpdatedAt),
  ...failureOf(task),
  ...noticeOf(task),
  ...(task.order.metadata !== undefined && { metadata: task.order.metadata }),
})
