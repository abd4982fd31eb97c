/**
 * Deletes everything that an account has stored. It is repeated until nothing is left, by any worker, so an interrupted one
 * continues. The counts are written in the transaction of each deletion.
 */
import { settleHold } from '../billing/spending/spend.ts'
import type { Log } from '../platform/log.ts'
import type { Database, Postgres } from '../platform/postgres.ts'
import type { MediaStore } from '../storage/port/media-store.ts'
import { removeFiles } from '../storage/removal/remove-files.ts'
import { finishTranscription } from '../transcription-tasks/transcription-task-store.ts'
import { failed } from '../transcription-tasks/transcription-task.ts'
import { finishAndSettle } from '../videos/lifecycle/settle-video.ts'
import { deleteTasks } from '../videos/removal/delete-tasks.ts'
import { requestJobRemovals, type UnwantedJob } from '../videos/removal/job-removal-store.ts'
import {
  countRowsOfVideos,
  deletions,
  endedVideos,
  openTranscriptions,
  openVideos,
  providersOfVideos,
  type Deleted,
} from './content-store.ts'
import { addCounts, emptyKeys } from './erasure-store.ts'

export interface EraseDependencies {
  postgres: Postgres
  mediaStore: MediaStore
  log: Log
  /** The providers that keep jobs of completed tasks. Without it, any provider may. */
  retaining?: () => string[]
  /** Stops a job at its provider. Without it, only its deletion is requested. */
  cancelJob?: (job: UnwantedJob) => Promise<void>
  /** Tells readers and the dispatcher that tasks have ended. */
  onEnded?: (provider: string, taskIds: string[]) => void
}

const isAny = (counts: Record<string, number>) => Object.values(counts).some((count) => count > 0)

const tasksPerBatch = 100
const rowsPerBatch = 1_000

// Not `task_cancelled`, which has no effect if the provider has completed the video. Nobody will read it.
const ending = { kind: 'failed', code: 'task_timeout', message: 'The account was erased.' } as const

/** Ends open tasks and releases their holds. Returns whether there may be more. */
const endVideos = async (dependencies: EraseDependencies, accountId: string): Promise<boolean> => {
  const { postgres, log, cancelJob, onEnded } = dependencies
  const open = await openVideos(postgres, accountId, tasksPerBatch)
  if (open.length === 0) return false
  const { ended, jobs } = await postgres.transaction(async (database) => {
    const ended = await finishAndSettle(
      database,
      open.map((task) => ({ ...task, ending })),
    )
    const jobs = [...ended].flatMap(([taskId, { provider, upstream }]) =>
      upstream === null ? [] : { taskId, accountId, provider, upstream },
    )
    await requestJobRemovals(database, jobs)
    await addCounts(database, accountId, { open_tasks: ended.size, jobs: jobs.length })
    return { ended, jobs }
  })
  for (const [taskId, { provider }] of ended) onEnded?.(provider, [taskId])
  if (cancelJob === undefined) return ended.size > 0
  const cancel = async (job: UnwantedJob) => {
    await cancelJob(job).catch((error: unknown) =>
      log.warn({ err: error, taskId: job.taskId }, 'job.cancel-failed'),
    )
  }
  await Promise.all(jobs.map(cancel))
  return ended.size > 0
}

/** A failed task has no transcript that could expire. */
const neverRead = new Date(0)

const endTranscriptions = async ({ postgres }: EraseDependencies, accountId: string): Promise<boolean> => {
  const open = await openTranscriptions(postgres, accountId, tasksPerBatch)
  for (const { day, id } of open) {
    await postgres.transaction(async (database) => {
      const task = await finishTranscription(database, day, id, failed('task_cancelled'), neverRead)
      if (task === undefined) return
      await settleHold(database, { ...task, taskId: id, day, captureMicros: task.capturedMicros })
      await addCounts(database, accountId, { open_transcriptions: 1 })
    })
  }
  return open.length > 0
}

const deleteVideos = async (database: Database, accountId: string, retaining: string[]): Promise<Deleted> => {
  const ended = await endedVideos(database, accountId, tasksPerBatch)
  if (ended.length === 0) return { counts: {}, files: [] }
  const before = await countRowsOfVideos(database, ended)
  const { ids, files, jobs } = await deleteTasks(
    database,
    ended.map((task) => ({ ...task, accountId })),
    retaining,
  )
  // The source of a remix that has not ended stays until the next pass.
  const after = ids.length === ended.length ? {} : await countRowsOfVideos(database, ended)
  const rows = Object.entries(before).map(([name, count]) => [name, count - (after[name] ?? 0)] as const)
  return {
    counts: { video_tasks: ids.length, jobs: jobs.length, ...Object.fromEntries(rows) },
    files,
  }
}

export const eraseContent = async (
  dependencies: EraseDependencies,
  accountId: string,
  signal: AbortSignal,
): Promise<void> => {
  const { postgres, retaining } = dependencies
  const untilDone = async (work: () => Promise<boolean>) => {
    while (!signal.aborted && (await work()));
  }
  /** Deletes a batch with its counts, then its files. Returns whether there may be more. */
  const deleteBatch = async (work: (database: Database) => Promise<Deleted>): Promise<boolean> => {
    const { counts, files } = await postgres.transaction(async (database) => {
      const deleted = await work(database)
      if (isAny(deleted.counts)) await addCounts(database, accountId, deleted.counts)
      return deleted
    })
    await removeFiles(dependencies, files)
    return isAny(counts)
  }

  await deleteBatch(async (database) => ({
    counts: { keys: await emptyKeys(database, accountId) },
    files: [],
  }))
  await untilDone(() => endVideos(dependencies, accountId))
  await untilDone(() => endTranscriptions(dependencies, accountId))
  const providers = retaining?.() ?? (await providersOfVideos(postgres, accountId))
  await untilDone(() => deleteBatch((database) => deleteVideos(database, accountId, providers)))
  for (const deleteSome of deletions) {
    await untilDone(() => deleteBatch((database) => deleteSome(database, accountId, rowsPerBatch)))
  }
}
