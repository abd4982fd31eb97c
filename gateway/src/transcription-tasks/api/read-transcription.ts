import type { Database } from '../../platform/postgres.ts'
import { taskNotFound } from '../../tasks/task.ts'
import { dayOfTranscription } from '../transcription-id.ts'
import { findTranscription } from '../transcription-task-store.ts'
import type { TranscriptionTask } from '../transcription-task.ts'

/** Finds a task of the account. Unknown tasks and tasks of other accounts give the same 404. */
export const readTranscription = async (
  database: Database,
  id: string,
  accountId: string,
): Promise<TranscriptionTask> => {
  const day = dayOfTranscription(id)
  const task = day === undefined ? undefined : await findTranscription(database, day, id)
  if (task === undefined || task.accountId !== accountId) throw taskNotFound(id)
  return task
}
