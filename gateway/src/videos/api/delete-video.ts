import { ApiError } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../../http/call.ts'
import type { Log } from '../../platform/log.ts'
import type { Postgres } from '../../platform/postgres.ts'
import type { Providers } from '../../providers/port/provider.ts'
import type { MediaStore } from '../../storage/port/media-store.ts'
import { deleteFilesOfTask, lockFilesOfTask } from '../../storage/stored-file-store.ts'
import { isFinal } from '../../tasks/task.ts'
import { discardRetainedJob } from '../lifecycle/discard-job.ts'
import { deleteFinishedTask, findOpenRemix, findProviderJob } from '../task-store.ts'
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
    const job = await findProviderJob(postgres, day, id)
    const keys = await postgres.transaction(async (database) => {
      // A concurrent remix of this video is either found below or refused because its source is gone.
      await lockFilesOfTask(database, id)
      const remix = await findOpenRemix(database, id)
      if (remix !== undefined) {
        throw new ApiError('conflict', {
          message: `This video is the source of ${remix}, which has not ended. Wait for that task or cancel it, then delete this video.`,
          headers: { 'x-should-retry': 'false' },
        })
      }
      // The statement decides whether the task has ended; the state read above may be out of date.
      if (await deleteFinishedTask(database, { id, day, accountId })) return deleteFilesOfTask(database, id)
      // Another request deleted it in the meantime.
      if (isFinal(state)) throw new ApiError('task_not_found')
      throw new ApiError('task_not_completed', {
        message: `This task is ${state}. Only a completed or failed task can be deleted.`,
      })
    })
    readTask.forget([id])
    announce([id])
    await mediaStore
      .removeMany(keys)
      .catch((error: unknown) => log.warn({ err: error, taskId: id }, 'video.remove-failed'))
    if (job !== undefined) {
      discardRetainedJob(providers, job).catch((error: unknown) =>
        log.warn({ err: error, taskId: id }, 'video.remove-failed'),
      )
    }
    return { body: { id, object: 'video.deleted', deleted: true } }
  }
