import { taskErrors } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../../http/call.ts'
import type { Log } from '../../platform/log.ts'
import type { Database } from '../../platform/postgres.ts'
import type { Providers } from '../../providers/port/provider.ts'
import type { Opaque } from '../../providers/port/video.ts'
import type { LinkSigner } from '../../storage/signed-link.ts'
import { stopUpstream } from '../lifecycle/discard-job.ts'
import { settleVideo, type SettleDependencies } from '../lifecycle/settle-video.ts'
import { findJobUnderWay, recordOutcome } from '../open-task-store.ts'
import { isFinal, type VideoTask } from '../task.ts'
import { dialectOf, presentVideo, videoUrlOf } from './present-video.ts'
import type { ReadTask } from './read-task.ts'

/**
 * Ends a task that has not ended, unless its provider has made the video already. Answers the task as it then stands:
 * cancelled, as it had ended before, or still on its way to its end.
 */
export type CancelTask = (
  id: string,
  accountId: string,
  /** Written in the transaction that ends it. */
  alongside?: (database: Database) => Promise<void>,
) => Promise<VideoTask>

export type CancelDependencies = Omit<SettleDependencies, 'discardJob'> & {
  providers: Providers
  readTask: ReadTask
  log: Log
  /** Tells the run that waits for this task's news to look; it finds that there is nothing left to do. */
  wakeRun: (awakeable: string) => Promise<void>
}

// A provider that does not answer must not keep a cancel waiting for as long as a poll may take.
const pollTimeoutMs = 5_000

/**
 * A cancelled task is one that failed: the same compare-and-set ends it and the same settlement gives its hold back, so
 * a run that finishes at the same moment either wins or finds nothing to do. A video that its provider has made is
 * paid for, so the provider is asked first where it works on the job: once it has finished, the cancel does nothing. A
 * provider that cannot be reached is taken for one that has not. It is asked to stop afterwards, and nobody waits for
 * that.
 */
export const createCancelTask = (dependencies: CancelDependencies): CancelTask => {
  const { postgres, providers, readTask, log, wakeRun } = dependencies
  const tell = (taskId: string, telling: Promise<void>) => {
    telling.catch((error: unknown) => log.warn({ err: error, taskId }, 'video.not-stopped'))
  }

  /** What the provider has to say of a job whose outcome we do not know; written down where it is done. */
  const noteIfDone = async (taskId: string): Promise<void> => {
    const job = await findJobUnderWay(postgres, taskId)
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
    if (job.awakeable !== null) tell(taskId, wakeRun(job.awakeable))
  }

  return async (id, accountId, alongside) => {
    const task = await readTask(id, accountId, { isFresh: true })
    if (isFinal(task.state)) return task
    await noteIfDone(id)
    const finished = await settleVideo(
      {
        ...dependencies,
        discardJob: async ({ provider, upstream }) => tell(id, stopUpstream(providers, provider, upstream)),
      },
      id,
      { kind: 'failed', code: 'task_cancelled', message: taskErrors.task_cancelled },
      alongside,
    )
    if (finished !== undefined && finished.awakeable !== null) tell(id, wakeRun(finished.awakeable))
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
