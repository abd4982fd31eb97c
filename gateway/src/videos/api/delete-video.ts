import { ApiError } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../../http/call.ts'
import type { Log } from '../../platform/log.ts'
import type { Postgres } from '../../platform/postgres.ts'
import type { Providers } from '../../providers/port/provider.ts'
import type { MediaStore } from '../../storage/media-store.ts'
import { deleteFilesOfTask, lockFilesOfTask } from '../../storage/stored-file-store.ts'
import { discardKept } from '../lifecycle/discard-job.ts'
import { deleteFinishedTask, findMaker, findRemixOf } from '../task-store.ts'
import { isFinal } from '../task.ts'
import type { ReadTask } from './read-task.ts'

export const deleteVideo =
  ({
    postgres,
    providers,
    mediaStore,
    readTask,
    log,
  }: {
    postgres: Postgres
    providers: Providers
    mediaStore: MediaStore
    readTask: ReadTask
    log: Log
  }): Handler<typeof operations.deleteVideo> =>
  async ({ path, caller: { accountId } }) => {
    const { id, day, state } = await readTask(path.id, accountId, { isFresh: true })
    const maker = await findMaker(postgres, day, id)
    const keys = await postgres.transaction(async (database) => {
      // A remix that is being created at this moment is either seen below, or finds its source gone.
      await lockFilesOfTask(database, id)
      const remix = await findRemixOf(database, id)
      if (remix !== undefined) {
        throw new ApiError('conflict', {
          message: `This video is the source of ${remix}, which has not ended. Wait until it has, or cancel it, and delete this one then.`,
          headers: { 'x-should-retry': 'false' },
        })
      }
      // Whether it has ended is decided here and not by the read; nobody else can have ended it twice.
      if (await deleteFinishedTask(database, { id, day, accountId })) return deleteFilesOfTask(database, id)
      // Somebody else deleted it since it was read.
      if (isFinal(state)) throw new ApiError('task_not_found')
      throw new ApiError('task_not_completed', {
        message: `This task is ${state}; only one that is completed or failed can be deleted.`,
      })
    })
    readTask.forget(id, accountId)
    for (const removal of await Promise.allSettled(keys.map((key) => mediaStore.remove(key)))) {
      if (removal.status === 'rejected') log.warn({ err: removal.reason, taskId: id }, 'video.not-removed')
    }
    if (maker !== undefined) {
      discardKept(providers, maker).catch((error: unknown) =>
        log.warn({ err: error, taskId: id }, 'video.not-removed'),
      )
    }
    return { body: { id, object: 'video.deleted', deleted: true } }
  }
