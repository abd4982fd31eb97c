/**
 * The settle step of a run. Status, money and event change together by compare-and-set, so they change once however
 * often the step runs. Cleanup follows after the commit and is best effort.
 */
import { settleHold } from '../../billing/spending/spend.ts'
import type { Log } from '../../platform/log.ts'
import type { Database, Postgres } from '../../platform/postgres.ts'
import type { MediaStore } from '../../storage/media-store.ts'
import { deleteReferences } from '../../storage/stored-file-store.ts'
import { dayOfTaskId } from '../task-id.ts'
import { finishTask, type FinishedTask } from '../task-store.ts'
import type { Ending } from '../task.ts'

export interface SettleDependencies {
  postgres: Postgres
  mediaStore: MediaStore
  log: Log
  onSlotFreed: (provider: string) => void
  announce: (taskIds: string[]) => void
  /** Deletes the job at its provider. */
  discardJob: (finished: FinishedTask, ending: Ending) => Promise<void>
  /** Deletes the characters that were made for this task alone, and returns the storage keys of their files. */
  forgetCharacters: (taskId: string) => Promise<string[]>
}

/**
 * Ends a task and returns it; undefined if it had ended before. `alongside` writes in the same transaction, and only if
 * this call ended the task.
 */
export const settleVideo = async (
  { postgres, mediaStore, log, onSlotFreed, announce, discardJob, forgetCharacters }: SettleDependencies,
  taskId: string,
  ending: Ending,
  alongside?: (database: Database) => Promise<void>,
): Promise<FinishedTask | undefined> => {
  const day = dayOfTaskId(taskId)
  if (day === undefined) throw new Error(`${taskId} is not a task id`)
  const finished = await postgres.transaction(async (database) => {
    const task = await finishTask(database, day, taskId, ending)
    if (task === undefined) return undefined
    await settleHold(database, {
      ...task,
      taskId,
      day,
      captureMicros: ending.kind === 'completed' ? task.holdMicros : 0,
    })
    await alongside?.(database)
    return task
  })
  if (finished === undefined) return undefined
  log.info(
    {
      taskId,
      accountId: finished.accountId,
      provider: finished.provider,
      code: ending.kind === 'failed' ? ending.code : undefined,
    },
    `video.${ending.kind}`,
  )
  onSlotFreed(finished.provider)
  announce([taskId])
  try {
    const keys = [...(await deleteReferences(postgres, taskId)), ...(await forgetCharacters(taskId))]
    await Promise.all(keys.map((key) => mediaStore.remove(key)))
    await discardJob(finished, ending)
  } catch (error) {
    log.warn({ err: error, taskId }, 'video.cleanup-failed')
  }
  return finished
}
