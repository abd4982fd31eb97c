/**
 * The settle step of a run. Status, money and event change together by compare-and-set, so they change once however
 * often the step runs. Tasks that end at the same time share a commit. Cleanup follows after the commit. Its steps do not
 * depend on each other, and what fails is tried again by a sweep.
 */
import { settleHolds } from '../../billing/spending/spend.ts'
import { batchByRecord } from '../../platform/batch.ts'
import type { Log } from '../../platform/log.ts'
import type { Database, Postgres } from '../../platform/postgres.ts'
import { inTask } from '../../platform/tracing/tracing.ts'
import type { Providers } from '../../providers/port/provider.ts'
import type { MediaStore } from '../../storage/port/media-store.ts'
import type { FileRemoval } from '../../storage/removal/file-removal-store.ts'
import { removeFiles } from '../../storage/removal/remove-files.ts'
import { deleteReferences } from '../../storage/stored-file-store.ts'
import { jobKeepingOf } from '../removal/remove-jobs.ts'
import { dayOfTaskId } from '../task-id.ts'
import { finishTasks, type FinishedTask, type JobKeeping, type TaskEnding } from '../task-store.ts'
import type { Ending } from '../task.ts'
import { measureEnd } from './measure-end.ts'
import { traceEnd } from './trace-video.ts'

/** Ends tasks and their holds inside the caller's transaction, and returns those that it ended. */
export const finishAndSettle = async (
  database: Database,
  tasks: TaskEnding[],
  keeping?: JobKeeping,
): Promise<Map<string, FinishedTask>> => {
  const finished = await finishTasks(database, tasks, keeping)
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

export const createFinishTask = (postgres: Postgres, keeping?: () => JobKeeping): FinishTask =>
  batchByRecord(
    (tasks) => postgres.transaction((database) => finishAndSettle(database, tasks, keeping?.())),
    ({ id }) => id,
    // Tasks of the same owners change the same counts and balances, so a second transaction would only wait for the first.
    { name: 'settle', inFlightMax: 1, sizeMax: 100 },
  )

export interface SettleDependencies {
  postgres: Postgres
  providers: Providers
  /** Ends a task together with others; without it, a task ends in a transaction of its own. */
  finishTask?: FinishTask
  mediaStore: MediaStore
  log: Log
  onSlotFreed: (provider: string) => void
  announce: (taskIds: string[]) => void
  /** Cancels or deletes the job at its provider, and then forgets the request to remove it. */
  discardJob: (finished: FinishedTask, ending: Ending) => Promise<void>
  /** Deletes the characters that were made for this task alone, and requests the removal of their files. */
  forgetCharacters: (taskId: string) => Promise<FileRemoval[]>
}

/** Tells others, and cleans up. */
const afterEnd = async (
  dependencies: SettleDependencies,
  taskId: string,
  finished: FinishedTask,
  ending: Ending,
): Promise<void> => {
  const { postgres, mediaStore, log, onSlotFreed, announce } = dependencies
  const { accountId, provider, model, createdAt, finishedAt } = finished
  const seconds = (finishedAt.getTime() - createdAt.getTime()) / 1000
  const end = ending.kind === 'failed' ? { code: ending.code } : { chargedMicros: finished.holdMicros }
  log.info({ taskId, accountId, provider, model, seconds, ...end }, `video.${ending.kind}`)
  measureEnd(finished, ending)
  onSlotFreed(finished.provider)
  announce([taskId])
  const cleanUp = async (work: () => Promise<unknown>): Promise<void> => {
    try {
      await work()
    } catch (error) {
      log.warn({ err: error, taskId }, 'video.cleanup-failed')
    }
  }
  if (finished.hasReferences) {
    await cleanUp(async () =>
      removeFiles({ postgres, mediaStore, log }, await deleteReferences(postgres, taskId)),
    )
  }
  if (finished.hasCharacters) {
    await cleanUp(async () =>
      removeFiles({ postgres, mediaStore, log }, await dependencies.forgetCharacters(taskId)),
    )
  }
  await cleanUp(() => dependencies.discardJob(finished, ending))
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
  const { postgres, providers, finishTask } = dependencies
  const day = dayOfTaskId(taskId)
  if (day === undefined) throw new Error(`${taskId} is not a task id`)
  const task = { day, id: taskId, ending }
  const startedMs = performance.now()
  const finished =
    alongside === undefined && finishTask !== undefined
      ? await finishTask(task)
      : await postgres.transaction(async (database) => {
          if (condition !== undefined && !(await condition(database))) return undefined
          const ended = (await finishAndSettle(database, [task], jobKeepingOf(providers))).get(taskId)
          if (ended !== undefined) await alongside?.(database)
          return ended
        })
  if (finished === undefined) return
  traceEnd(taskId, finished, ending, startedMs)
  const { traceContext } = finished
  await inTask({ taskId, traceContext }, () => afterEnd(dependencies, taskId, finished, ending))
}
