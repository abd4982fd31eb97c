import type { TranscriptionTask as TranscriptionTaskView } from '@kinora/contract/operations/transcription-tasks'

import type { TranscriptionTask } from '../transcription-task.ts'

const unixSeconds = (date: Date) => Math.floor(date.getTime() / 1000)

export const presentTranscriptionTask = (task: TranscriptionTask): TranscriptionTaskView => {
  const isCompleted = task.state === 'completed'
  return {
    id: task.id,
    object: 'transcription.task',
    model: task.modelName,
    task: task.order.task,
    status: task.state,
    progress: isCompleted ? 100 : Math.min(99, Math.floor((100 * task.doneMs) / task.durationMs)),
    created_at: unixSeconds(task.createdAt),
    completed_at: isCompleted && task.finishedAt !== null ? unixSeconds(task.finishedAt) : null,
    expires_at: task.expiresAt === null ? null : unixSeconds(task.expiresAt),
    duration: task.durationMs / 1000,
    error: task.errorCode === null ? null : { code: task.errorCode, message: task.errorMessage ?? '' },
    ...(task.order.metadata !== undefined && { metadata: task.order.metadata }),
  }
}
