/**
 * The settle step of a run. Status, money and event change together by compare-and-set, so they change once however
 * often the step runs. Tasks that end at the same time share a commit. Cleanup follows after the commit and is best effort.
 */
import { settleHolds } from '../../billing/spending/spend.ts'
import { batch, fulfilled } from '../../platform/batch.ts'
import type { Log } from '../../platform/log.ts'
import { isDatabaseUnavailable } from '../../platform/postgres-errors.ts'
import type { Database, Postgres } from '../../platform/postgres.ts'
import type { MediaStore } from '../../storage/media-store.ts'
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

export const createFinishTask = (postgres: Postgres): FinishTask => {
  const finishAll = async (tasks: TaskEnding[]) => {
    // Two executions of a step may end the same task; the first of them does.
    const distinct = new Map(tasks.toReversed().map((task) => [task.id, task]))
    const finished = await postgres.transaction((database) =>
      finishAndSettle(database, [...distinct.values()]),
    )
    return tasks.map((task) => (distinct.get(task.id) === task ? finished.get(task.id) : undefined))
  }
  return batch(
    async (tasks) => {
      try {
        return (await finishAll(tasks)).map(fulfilled)
      } catch (error) {
        if (tasks.length === 1 || isDatabaseUnavailable(error)) throw error
        // A task that cannot end does not keep others from ending.
        return Promise.allSettled(tasks.map(async (task) => (await finishAll([task]))[0]))
      }
    },
    { inFlightMax: 2, sizeMax: 100 },
  )
}

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
 * Ends a task and returns it; undefined if it had ended before. `alongside` writes in the same transaction, and only if
 * this call ended the task.
 */
export const settleVideo = async (
  dependencies: SettleDependencies,
  taskId: string,
  ending: Ending,
  alongside?: (database: Database) => Promise<void>,
): Promise<FinishedTask | undefined> => {
  const { postgres, finishTask, mediaStore, log, onSlotFreed, announce, discardJob, forgetCharacters } =
    dependencies
  const day = dayOfTaskId(taskId)
  if (day === undefined) throw new Error(`${taskId} is not a task id`)
  const task = { day, id: taskId, ending }
  const finished =
    alongside === undefined && finishTask !== undefined
      ? await finishTask(task)
      : await postgres.transaction(async (database) => {
          const ended = (await finishAndSettle(database, [task])).get(taskId)
          if (ended !== undefined) await alongside?.(database)
          return ended
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
    const keys = [
      ...(finished.hasReferences ? await deleteReferences(postgres, taskId) : []),
      ...(finished.hasCharacters ? await forgetCharacters(taskId) : []),
    ]
    await Promise.all(keys.map((key) => mediaStore.remove(key)))
    await discardJob(finished, ending)
  } catch (error) {
    log.warn({ err: error, taskId }, 'video.cleanup-failed')
  }
  return finished
}
