/** The API representations of a task. The family determines the fields, the dialect the status names or the whole shape. */
import type { RemixedVideo } from '@kinora/contract/operations/remixes'
import type { VideoStatus } from '@kinora/contract/operations/video-fields'
import type { CreatedVideoTask, VideoTaskView } from '@kinora/contract/operations/video-tasks'
import type { CreatedVideo, ListedVideo, OpenAiVideo, VideoView } from '@kinora/contract/operations/videos'

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

export const statusName = (state: VideoStatus, dialect: Dialect): string =>
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

const presentOpenAiVideo = (
  task: VideoTask,
  videoUrl: string | null,
  estimate: Estimate = {},
): OpenAiVideo => ({
  id: task.id,
  object: 'video',
  model: task.model,
  status: openAiStatus[task.state],
  progress: task.progress,
  created_at: unixSeconds(task.createdAt),
  completed_at: task.state === 'completed' ? unixSeconds(task.statusUpdatedAt) : null,
  expires_at: task.mediaExpiresAt === null ? null : unixSeconds(task.mediaExpiresAt),
  prompt: task.order.prompt,
  seconds: String(task.order.seconds),
  size: task.order.size,
  remixed_from_video_id: task.order.remixOf?.taskId ?? null,
  error: task.errorCode === null ? null : { code: task.errorCode, message: task.errorMessage ?? '' },
  video_url: videoUrl,
  metadata: task.order.metadata ?? {},
  ...noticeOf(task),
  ...presentEstimate(estimate),
})

export const presentCreatedVideo = (task: VideoTask, dialect: Dialect): CreatedVideo | OpenAiVideo =>
  dialect === 'openai'
    ? presentOpenAiVideo(task, null)
    : {
        id: task.id,
        object: 'video',
        model: task.model,
        status: task.family === 'A' || dialect === 'openai-status' ? 'queued' : 'pending',
        progress: 0,
        created_at: unixSeconds(task.createdAt),
        seconds: task.order.seconds,
        size: task.order.size,
      }

export const presentRemixedVideo = (task: VideoTask, dialect: Dialect): RemixedVideo | OpenAiVideo =>
  dialect === 'openai'
    ? presentOpenAiVideo(task, null)
    : { id: task.id, object: 'video', status: statusName('pending', dialect), progress: 0 }

const failureOf = ({ errorCode, errorMessage }: VideoTask) =>
  errorCode === null ? {} : { error: { code: errorCode, message: errorMessage ?? '' } }

export const presentVideo = (
  task: VideoTask,
  videoUrl: string | null,
  dialect: Dialect,
  estimate: Estimate = {},
): VideoView | OpenAiVideo => {
  if (dialect === 'openai') return presentOpenAiVideo(task, videoUrl, estimate)
  const status = {
    id: task.id,
    status: statusName(task.state, dialect),
    progress: task.progress,
    video_url: videoUrl,
  }
  const error = { ...failureOf(task), ...noticeOf(task) }
  return task.family === 'A'
    ? {
        ...status,
        enhanced_prompt: task.enhancedPrompt,
        status_update_time: unixSeconds(task.statusUpdatedAt),
        ...error,
      }
    : { ...status, model: task.model, seconds: task.order.seconds, size: task.order.size, ...error }
}

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
})

export const presentListedVideo = (
  task: VideoTask,
  videoUrl: string | null,
  dialect: Dialect,
): ListedVideo | OpenAiVideo =>
  dialect === 'openai'
    ? presentOpenAiVideo(task, videoUrl)
    : {
        id: task.id,
        object: 'video',
        model: task.model,
        status: statusName(task.state, dialect),
        progress: task.progress,
        created_at: unixSeconds(task.createdAt),
        seconds: task.order.seconds,
        size: task.order.size,
        video_url: videoUrl,
        remixed_from_video_id: task.order.remixOf?.taskId ?? null,
        metadata: task.order.metadata ?? {},
        ...failureOf(task),
      }
