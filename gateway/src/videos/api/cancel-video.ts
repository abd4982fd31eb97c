import type { operations } from '@kinora/contract/operations'
import { taskErrors } from '@kinora/contract/task-errors'

import type { Handler } from '../../http/call.ts'
import type { Log } from '../../platform/log.ts'
import type { Database } from '../../platform/postgres.ts'
import type { Opaque } from '../../providers/port/video.ts'
import type { LinkSigner } from '../../storage/signed-link.ts'
import { isFinal } from '../../tasks/task.ts'
import { settleVideo, type SettleDependencies } from '../lifecycle/settle-video.ts'
import { findRunningJob, recordOutcome } from '../open-task-store.ts'
import type { VideoTask } from '../task.ts'
import { dialectOf, presentVideo, videoUrlOf } from './present-video.ts'
import type { ReadTask } from './read-task.ts'

/**
 * Cancels an open task, unless its provider has completed the video already. Returns the task as it is afterwards:
 * cancelled, ended before, or still processing.
 */
export type CancelTask = (
  id: string,
  accountId: string,
  /** Writes in the transaction that ends the task. */
  alongside?: (database: Database) => Promise<void>,
) => Promise<VideoTask>

export type CancelDependencies = SettleDependencies & {
  readTask: ReadTask
  log: Log
  wakePoller: (provider: string, taskId: string) => void
}

// Shorter than the timeout of ordinary polls, because the caller waits for it.
const pollTimeoutMs = 5_000

/**
 * A cancelled task counts as failed: the same compare-and-set ends it and the same settlement releases its hold, so a run
 * that finishes at the same time either wins or finds nothing to do. A completed video is charged, so a running job is
 * polled first, and the cancel has no effect if the job is done. If the poll fails, the job counts as running. The job
 * is cancelled at its provider afterwards, and the response does not wait for that.
 */
export const createCancelTask = (dependencies: CancelDependencies): CancelTask => {
  const { postgres, providers, readTask, log, wakePoller } = dependencies
  const inBackground = (taskId: string, event: string, work: Promise<void>) => {
    work.catch((error: unknown) => log.warn({ err: error, taskId }, event))
  }

  /** Polls the running job of a task, and records the outcome if it is done. */
  const recordIfDone = async (taskId: string): Promise<void> => {
    const job = await findRunningJob(postgres, taskId)
    const provider = job && providers.find(job.provider)
    if (job === undefined || provider?.video === undefined) return
    try {
      const signal = AbortSignal.timeout(Math.min(provider.timeoutsMs.poll, pollTimeoutMs))
      const status = await provider.video.poll(job.upstream as Opaque, signal)
      if (status.kind !== 'done') return
      await recordOutcome(postgres, taskId, { kind: 'done', result: status.result })
    } catch (error) {
      log.info({ err: error, taskId, provider: provider.name }, 'poll.failed')
      return
    }
    wakePoller(provider.name, taskId)
  }

  return async (id, accountId, alongside) => {
    const task = await readTask(id, accountId, { isFresh: true })
    if (isFinal(task.state)) return task
    await recordIfDone(id)
    await settleVideo(
      {
        ...dependencies,
        discardJob: async (finished, ending) =>
          inBackground(id, 'job.cancel-failed', dependencies.discardJob(finished, ending)),
      },
      id,
      { kind: 'failed', code: 'task_cancelled', message: taskErrors.task_cancelled },
      alongside,
    )
    return readTask(id, accountId, { isFresh: true })
  }
}

export const cancelVideo =
  ({
    cancelTask,
    links,
  }: {
    cancelTask: CancelTask
    links: LinkSigner
  }): Handler<typeof operations.cancelVideo> =>
  async (call) => {
    const task = await cancelTask(call.path.id, call.caller.accountId)
    return { body: presentVideo(task, videoUrlOf(links, task.mediaId), dialectOf(call)) }
  }
