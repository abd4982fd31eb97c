/** Deletes what is stored of video tasks, and requests the removal of their files. Ledger and usage entries stay. */
import { deleteUsageMetadata } from '../../platform/database/usage-metadata-store.ts'
import type { Database } from '../../platform/postgres.ts'
import { requestRemovals, type FileRemoval } from '../../storage/removal/file-removal-store.ts'
import { deleteStoredResponses } from '../../tasks/stored-response-store.ts'
import type { TaskKey } from '../task-store.ts'
import type { UnwantedJob } from './job-removal-store.ts'

export interface DeletedTasks {
  ids: string[]
  files: FileRemoval[]
  /** Their jobs at providers. */
  jobs: UnwantedJob[]
}

/**
 * Deletes those of these tasks that have ended, and the stored responses that describe them, inside a transaction that has
 * locked their files (`lockFilesOfTasks`) and then found no open remix of them.
 */
export const deleteEndedTasks = async (database: Database, tasks: TaskKey[]): Promise<DeletedTasks> => {
  const { rows: deleted } = await database.query<UnwantedJob & { day: string } & Record<string, unknown>>(
    `with deleted as (
       delete from video_tasks t using jsonb_to_recordset($1::jsonb) as given (day date, id text, "accountId" uuid)
        where t.day = given.day and t.id = given.id and t.account_id = given."accountId"
          and t.day = any($2::date[]) and t.state in ('completed', 'failed')
       returning t.day, t.id, t.account_id, t.provider, t.upstream, t.finished_at
     ), events as (
       delete from task_events e using deleted
        where e.day = deleted.day and e.task_id = deleted.id and e.day = any($2::date[])
     ), metadata as (${deleteUsageMetadata('deleted')}), responses as (${deleteStoredResponses('deleted')})
     select day, id as "taskId", account_id as "accountId", provider, upstream from deleted`,
    [
      JSON.stringify(tasks.map(({ day, id, accountId }) => ({ day, id, accountId }))),
      [...new Set(tasks.map(({ day }) => day))],
    ],
  )
  if (deleted.length === 0) return { ids: [], files: [], jobs: [] }
  const ids = deleted.map(({ taskId }) => taskId)
  // A separate statement, so that it sees an attempt that was inserted until the task was deleted (`recordAttempts`).
  await database.query(
    'delete from task_attempts where day = any($1::date[]) and task_id = any($2::text[])',
    [[...new Set(deleted.map(({ day }) => day))], ids],
  )
  const { rows: files } = await database.query<FileRemoval & Record<string, unknown>>(
    `with gone as (
       delete from media where task_id = any($1::text[]) and kind in ('video', 'reference', 'thumbnail', 'spritesheet')
       returning storage_key, account_id, removed_at
     ) ${requestRemovals('gone where removed_at is null')}`,
    [ids],
  )
  return {
    ids,
    files,
    jobs: deleted.flatMap(({ taskId, accountId, provider, upstream }) =>
      upstream === null ? [] : { taskId, accountId, provider, upstream },
    ),
  }
}
