import type { Database } from '../../platform/postgres.ts'
import type { FileRemoval } from '../../storage/removal/file-removal-store.ts'
import { lockFilesOfTasks } from '../../storage/stored-file-store.ts'
import { findOpenRemixes, type TaskKey } from '../task-store.ts'
import { deleteEndedTasks } from './delete-task-store.ts'
import { requestJobRemovals, type JobRemoval } from './job-removal-store.ts'

export interface Deletion {
  ids: string[]
  /** What is to be removed outside of the database, after the commit. */
  files: FileRemoval[]
  jobs: JobRemoval[]
  /** The tasks that are sources of a task that has not ended, with one such task. They are not deleted. */
  remixes: Map<string, string>
}

/**
 * Deletes tasks that have ended, with everything about them, inside a transaction. `retaining` are the providers that keep
 * jobs for remixes. A concurrent remix of such a task is either found here or refused because its source is gone.
 */
export const deleteTasks = async (
  database: Database,
  tasks: TaskKey[],
  retaining: string[],
): Promise<Deletion> => {
  const ids = tasks.map(({ id }) => id)
  await lockFilesOfTasks(database, ids)
  const remixes = await findOpenRemixes(database, ids)
  const deleted = await deleteEndedTasks(
    database,
    tasks.filter(({ id }) => !remixes.has(id)),
  )
  const jobs = await requestJobRemovals(
    database,
    deleted.jobs.filter(({ provider }) => retaining.includes(provider)),
  )
  return { ids: deleted.ids, files: deleted.files, jobs, remixes }
}
