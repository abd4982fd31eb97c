/**
 * The settle step of a run. Status, money and event change together by compare-and-set, so they change once however
 * often the step runs. Tasks that end at the same time share a commit. Cleanup follows after the commit and is best effort.
 */
import { settleHolds } from '../../billing/spending/spend.ts'
import { batchByRecord } from '../../platform/batch.ts'
import type { Log } from '../../platform/log.ts'
import type { Database, Postgres } from '../../platform/postgres.ts'
import type { MediaStore } from '../../storage/port/media-store.ts'
import { deleteReferences } from '../../storage/stored-file-store.ts'
import { dayOfTaskId } from '../task-id.ts'
import { finishTasks, type FinishedTask, type TaskEnding } from '../task-store.ts'
import type { Ending } from '../task.ts'

/** Ends tasks and their holds inside the caller's transaction, and returns those that it ended. */
export const finishAndSettle = async (
  database: Database,
  tasks: TaskEnding[],
): Promise<Map<string, FinishedTask>> => {
  const finished = await finishTasks(database, tasks)
  await settleHolds(
    database,
    tasks.flatMap(({ id, day, ending }) => {
      const task = finished.get(id)
      if (task === undefined) return []
      return { ...task, taskId: id, day, captureMicros: ending.kind === 'completed' ? task.holdMicros : 0 }
    }),
  )
  return finished
}

/** Ends a task; undefined if it had ended before. */
export type FinishTask = (task: TaskEnding) => Promise<FinishedTask | undefined>

export const createFinishTask = (postgres: Postgres): FinishTask =>
  batchByRecord(
    (tasks) => postgres.transaction((database) => finishAndSettle(database, tasks)),
    ({ id }) => id,
    // Tasks of the same owners change the same counts and balances, so a second transaction would only wait for the first.
    { inFlightMax: 1, sizeMax: 100 },
  )

export interface SettleDependencies {
  postgres: Postgres
  /** Ends a task together with others; without it, a task ends in a transaction of its own. */
  finishTask?: FinishTask
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
 * Ends a task, unless it had ended before, or `condition` does not hold in the same transaction. `alongside` writes in it too,
 * and only if this call ended the task.
 */
export const settleVideo = async (
  dependencies: SettleDependencies,
  taskId: string,
  ending: Ending,
  alongside?: (database: Database) => Promise<void>,
  condition?: (database: Database) => Promise<boolean>,
): Promise<void> => {
  const { postgres, finishTask, mediaStore, log, onSlotFreed, announce, discardJob, forgetCharacters } =
    dependencies
  const day = dayOfTaskId(taskId)
  if (day === undefined) throw new Error(`${taskId} is not a task id`)
  const task = { day, id: taskId, ending }
  const finished =
    alongside === undefined && finishTask !== undefined
      ? await finishTask(task)
      : await postgres.transaction(async (database) => {
          if (condition !== undefined && !(await condition(database))) return undefined
          const ended = (await finishAndSettle(database, [task])).get(taskId)
          if (ended !== undefined) await alongside?.(database)
          return ended
        })
  if (finished === undefined) return
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
    const keys = [
      ...(finished.hasReferences ? await deleteReferences(postgres, taskId) : []),
      ...(finished.hasCharacters ? await forgetCharacters(taskId) : []),
    ]
    await mediaStore.removeMany(keys)
    await discardJob(finished, ending)
  } catch (error) {
    log.warn({ err: error, taskId }, 'video.cleanup-failed')
  }
}
