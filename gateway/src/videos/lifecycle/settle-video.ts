/**
 * The last step of a run: status, money and event change together, by compare-and-set, so they change
 * once however often this runs. What is left over is cleared away afterwards, as well as it can be.
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
  /** Tells the provider that it may forget its job. */
  discardJob: (finished: FinishedTask, ending: Ending) => Promise<void>
  /** Forgets the characters that were made for this task alone and answers where their files lie. */
  forgetCharacters: (taskId: string) => Promise<string[]>
}

/** Ends a task and answers it, or nothing where it had ended before. What is to be written alongside is written once. */
export const settleVideo = async (
  { postgres, mediaStore, log, onSlotFreed, announce, discardJob, forgetCharacters }: SettleDependencies,
  taskId: string,
  ending: Ending,
  alongside?: (database: Database) => Promise<void>,
): Promise<FinishedTask | undefined> => {
  const day = dayOfTaskId(taskId)
  if (day === undefined) throw new Error(`${taskId} is no task id`)
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
    const left = [...(await deleteReferences(postgres, taskId)), ...(await forgetCharacters(taskId))]
    await Promise.all(left.map((key) => mediaStore.remove(key)))
    await discardJob(finished, ending)
  } catch (error) {
    log.warn({ err: error, taskId }, 'video.not-cleared')
  }
  return finished
}
