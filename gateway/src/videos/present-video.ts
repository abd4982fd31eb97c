/** A task as its readers see it: the family picks the fields, the dialect picks the words. */
import type {
  CreatedVideo,
  CreatedVideoTask,
  ListedVideo,
  VideoStatus,
  VideoTaskView,
  VideoView,
} from '@kinora/contract/videos'

import type { Call } from '../http/call.ts'
import type { LinkSigner } from '../storage/signed-link.ts'
import type { VideoTask } from './task.ts'

/** Client libraries that poll by themselves know other words for the first two states. */
export const speaksOpenAi = ({ header, caller }: Pick<Call, 'header' | 'caller'>): boolean =>
  header('x-stainless-poll-helper') === 'true' || (header('x-api-dialect') ?? caller.dialect) === 'openai'

const openAiWords: Record<VideoStatus, string> = {
  pending: 'queued',
  processing: 'in_progress',
  completed: 'completed',
  failed: 'failed',
}

export const wordFor = (state: VideoStatus, isOpenAi: boolean): string =>
  isOpenAi ? openAiWords[state] : state

/** A link to the task's video, made anew each time; null while there is none. */
export const videoUrlOf = (links: Pick<LinkSigner, 'link'>, mediaId: string | null): string | null =>
  mediaId === null ? null : links.link(mediaId, 'video.mp4')

const unixSeconds = (date: Date) => Math.floor(date.getTime() / 1000)

export const presentCreatedVideo = (task: VideoTask, isOpenAi: boolean): CreatedVideo => ({
  id: task.id,
  object: 'video',
  model: task.model,
  status: task.family === 'A' || isOpenAi ? 'queued' : 'pending',
  progress: 0,
  created_at: unixSeconds(task.createdAt),
  seconds: task.order.seconds,
  size: task.order.size,
})

const failureOf = ({ errorCode, errorMessage }: VideoTask) =>
  errorCode === null ? {} : { error: { code: errorCode, message: errorMessage ?? '' } }

export const presentVideo = (task: VideoTask, videoUrl: string | null, isOpenAi: boolean): VideoView => {
  const status = {
    id: task.id,
    status: isOpenAi ? openAiWords[task.state] : task.state,
    progress: task.progress,
    video_url: videoUrl,
  }
  const error = failureOf(task)
  return task.family === 'A'
    ? {
        ...status,
        enhanced_prompt: task.enhancedPrompt,
        status_update_time: unixSeconds(task.statusUpdatedAt),
        ...error,
      }
    : { ...status, model: task.model, seconds: task.order.seconds, size: task.order.size, ...error }
}

/** The create-and-query style has one shape for both families and knows no other dialect. */
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
})

export const presentListedVideo = (
  task: VideoTask,
  videoUrl: string | null,
  isOpenAi: boolean,
): ListedVideo => ({
  id: task.id,
  object: 'video',
  model: task.model,
  status: wordFor(task.state, isOpenAi),
  progress: task.progress,
  created_at: unixSeconds(task.createdAt),
  seconds: task.order.seconds,
  size: task.order.size,
  video_url: videoUrl,
  remixed_from_video_id: task.order.remixOf?.taskId ?? null,
  metadata: task.order.metadata ?? {},
  ...failureOf(task),
})
