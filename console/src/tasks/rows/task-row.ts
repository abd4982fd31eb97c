/** A task as the list shows it, whether it was read with a customer's key or with an operator's. */
import type { ListVideosItem } from '@kinora/client'
import type { AdminTask } from '@kinora/client/admin'

import type { TaskStatus } from '../../ui/status.tsx'

interface Range {
  min: number
  max: number
}

export interface TaskRow {
  id: string
  kind: 'video' | 'transcription'
  status: TaskStatus
  progress: number
  model: string
  /** Null for operators, who read prompts in the order of a task. */
  prompt: string | null
  seconds: number | null
  size: string | null
  keyId: string
  keyName: string | null
  account: { id: string; name: string } | null
  provider: string | null
  createdAt: number
  finishedAt: number | null
  holdMicros: number
  capturedMicros: number | null
  currency: string
  error: { code: string; message: string } | null
  /** Whether the session may read images of the video. */
  hasImages: boolean
  queue: Range | null
  timeLeft: Range | null
  remixOf: string | null
  metadata: Record<string, string | number | boolean>
}

export const readStatus = (status: string, errorCode: string | undefined): TaskStatus => {
  if (status === 'failed') return errorCode === 'task_cancelled' ? 'cancelled' : 'failed'
  if (status === 'in_progress' || status === 'processing') return 'processing'
  return status === 'completed' ? 'completed' : 'queued'
}

export const isRunning = ({ status }: Pick<TaskRow, 'status'>): boolean =>
  status === 'queued' || status === 'pending' || status === 'processing'

const noDetails = {
  ...{ prompt: null, key_id: '', hold_micros: 0, captured_micros: null, currency: '', completed_at: null },
  ...{ variants: [] as string[], queue_position: undefined, time_left_seconds: undefined },
}

export const createVideoRow = (video: ListVideosItem): TaskRow => {
  const details = video.details ?? noDetails
  const status = readStatus(video.status, video.error?.code)
  return {
    ...{ id: video.id, kind: 'video', status, progress: video.progress, model: video.model },
    ...{ prompt: details.prompt, seconds: video.seconds, size: video.size },
    ...{ keyId: details.key_id, keyName: null, account: null, provider: null },
    createdAt: video.created_at,
    finishedAt: isRunning({ status }) ? null : (details.completed_at ?? video.status_update_time),
    holdMicros: details.hold_micros,
    capturedMicros: details.captured_micros,
    currency: details.currency,
    error: video.error ?? null,
    hasImages: details.variants.includes('thumbnail'),
    queue: details.queue_position ?? null,
    timeLeft: details.time_left_seconds ?? null,
    remixOf: video.remixed_from_video_id,
    metadata: video.metadata,
  }
}

/** Each download of an operator is recorded in the audit log, so images are shown of the session's own account only. */
export const createOperatorRow = (task: AdminTask, ownAccountId: string | undefined): TaskRow => ({
  ...{ id: task.id, kind: task.kind, model: task.model, progress: task.progress },
  status: readStatus(task.status, task.error?.code),
  ...{ prompt: null, seconds: null, size: null, remixOf: null, metadata: {} },
  ...{ keyId: task.key_id, keyName: task.key_name },
  account: { id: task.account_id, name: task.account_name },
  provider: task.provider,
  createdAt: task.created_at,
  finishedAt: task.finished_at,
  holdMicros: task.hold_micros,
  capturedMicros: task.captured_micros,
  currency: task.currency,
  error: task.error,
  hasImages: task.kind === 'video' && task.status === 'completed' && task.account_id === ownAccountId,
  ...{ queue: null, timeLeft: null },
})

/** `16 / 9` of `1280x720`, `16x9` or `16:9`. */
export const readAspect = (size: string | null): number => {
  const [, width, height] = /^(\d+)[x:](\d+)$/.exec(size ?? '') ?? []
  return width === undefined || height === undefined ? 16 / 9 : Number(width) / Number(height)
}
