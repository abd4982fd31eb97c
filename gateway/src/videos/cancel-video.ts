import { taskErrors } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../http/call.ts'
import type { Log } from '../platform/log.ts'
import type { Database } from '../platform/postgres.ts'
import type { Providers } from '../providers/port/provider.ts'
import type { LinkSigner } from '../storage/signed-link.ts'
import { stopUpstream } from './discard-upstream.ts'
import { presentVideo, speaksOpenAi, videoUrlOf } from './present-video.ts'
import type { ReadTask } from './read-task.ts'
import { settleVideo, type SettleDependencies } from './settle-video.ts'
import { isFinal, type VideoTask } from './task.ts'

/** Ends a task that has not ended; answers it as it then stands, cancelled or as it had ended before. */
export type CancelTask = (
  id: string,
  accountId: string,
  /** Written in the transaction that ends it. */
  alongside?: (database: Database) => Promise<void>,
) => Promise<VideoTask>

export type CancelDependencies = Omit<SettleDependencies, 'discardUpstream'> & {
  providers: Providers
  readTask: ReadTask
  log: Log
  /** Tells the run that waits for this task's news to look; it finds that there is nothing left to do. */
  wakeRun: (awakeable: string) => Promise<void>
}

/**
 * A cancelled task is one that failed: the same compare-and-set ends it and the same settlement gives its hold
 * back, so a run that finishes at the same moment either wins or finds nothing to do. The provider is asked to
 * stop afterwards, and nobody waits for that.
 */
export const createCancelTask = (dependencies: CancelDependencies): CancelTask => {
  const { providers, readTask, log, wakeRun } = dependencies
  const tell = (taskId: string, telling: Promise<void>) => {
    telling.catch((error: unknown) => log.warn({ err: error, taskId }, 'video.not-stopped'))
  }
  return async (id, accountId, alongside) => {
    const task = await readTask(id, accountId, { isFresh: true })
    if (isFinal(task.state)) return task
    const finished = await settleVideo(
      {
        ...dependencies,
        discardUpstream: async ({ provider, upstream }) =>
          tell(id, stopUpstream(providers, provider, upstream)),
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
    const task = await cancelTask(call.path['id'] ?? '', call.caller.accountId)
    return { body: presentVideo(task, videoUrlOf(links, task.mediaId), speaksOpenAi(call)) }
  }
