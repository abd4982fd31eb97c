import { ApiError } from '@kinora/contract/errors'

import type { Database } from '../../platform/postgres.ts'
import { dayOfTranscription } from '../../transcription-tasks/transcription-id.ts'
import { dayOfTaskId } from '../../videos/task-id.ts'
import { findAnyTask, type TaskDetail } from './task-store.ts'

/** Reads a task of any account. Its id contains the kind and the creation time. */
export const readAnyTask = async (database: Database, id: string): Promise<TaskDetail> => {
  const ofVideo = dayOfTaskId(id)
  const day = ofVideo ?? dayOfTranscription(id)
  const kind = ofVideo === undefined ? 'transcription' : 'video'
  const task = day === undefined ? undefined : await findAnyTask(database, kind, day, id)
  if (task === undefined) throw new ApiError('task_not_found')
  return task
}
