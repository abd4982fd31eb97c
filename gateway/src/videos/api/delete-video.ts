import { ApiError } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../../http/call.ts'
import type { Log } from '../../platform/log.ts'
import type { Postgres } from '../../platform/postgres.ts'
import type { Providers } from '../../providers/port/provider.ts'
import type { MediaStore } from '../../storage/port/media-store.ts'
import { removeFiles } from '../../storage/removal/remove-files.ts'
import { isFinal } from '../../tasks/task.ts'
import { deleteTasks } from '../removal/delete-tasks.ts'
import { removeJobs, retainingProviders } from '../removal/remove-jobs.ts'
import type { ReadTask } from './read-task.ts'

export const deleteVideo =
  ({
    postgres,
    providers,
    mediaStore,
    readTask,
    announce,
    log,
  }: {
    postgres: Postgres
    providers: Providers
    mediaStore: MediaStore
    readTask: ReadTask
    announce: (taskIds: string[]) => void
    log: Log
  }): Handler<typeof operations.deleteVideo> =>
  async ({ path, caller: { accountId } }) => {
    const { id, day, state } = await readTask(path.id, accountId, { isFresh: true })
    const deletion = await postgres.transaction(async (database) => {
      const deleted = await deleteTasks(database, [{ id, day, accountId }], retainingProviders(providers))
      const remix = deleted.remixes.get(id)
      if (remix !== undefined) {
        throw new ApiError('conflict', {
          message: `This video is the source of ${remix}, which has not ended. Wait for that task or cancel it, then delete this video.`,
          headers: { 'x-should-retry': 'false' },
        })
      }
      // The statement decides whether the task has ended; the state read above may be out of date.
      if (deleted.ids.length > 0) return deleted
      // Another request deleted it in the meantime.
      if (isFinal(state)) throw new ApiError('task_not_found')
      throw new ApiError('task_not_completed', {
        message: `This task is ${state}. Only a completed or failed task can be deleted.`,
      })
    })
    readTask.forget([id])
    announce([id])
    await removeFiles({ postgres, mediaStore, log }, deletion.files)
    void removeJobs({ postgres, providers, log }, deletion.jobs)
    return { body: { id, object: 'video.deleted', deleted: true } }
  }
