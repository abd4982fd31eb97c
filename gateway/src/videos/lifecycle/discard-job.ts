/**
 * Cleans up a provider's job once its task has ended. The task does not depend on it. What fails is tried again by a sweep, if the
 * provider can delete jobs: the end of the task has requested the removal.
 */
import type { Database } from '../../platform/postgres.ts'
import type { Providers } from '../../providers/port/provider.ts'
import type { Opaque } from '../../providers/port/video.ts'
import { forgetJobRemovals } from '../removal/job-removal-store.ts'
import type { FinishedTask } from '../task-store.ts'
import type { Ending } from '../task.ts'

const timeoutMs = 10_000

/** A task that ends so may have a job that is still running. */
const isEarlyEnd = (ending: Ending) =>
  ending.kind === 'failed' && (ending.code === 'task_timeout' || ending.code === 'task_cancelled')

/** Cancels a job that may be running, and deletes one that nothing needs any more. */
export const discardJob =
  ({ postgres, providers }: { postgres: Database; providers: Providers }) =>
  async ({ provider, upstream, jobRemovalId }: FinishedTask, ending: Ending): Promise<void> => {
    if (isEarlyEnd(ending)) await cancelJob(providers, provider, upstream)
    else if (jobRemovalId !== null) {
      await providers.find(provider)?.video?.discard?.(upstream as Opaque, AbortSignal.timeout(timeoutMs))
    }
    if (jobRemovalId !== null) await forgetJobRemovals(postgres, [jobRemovalId])
  }

/** Cancels a job at its provider; a provider without cancellation deletes it. */
export const cancelJob = async (providers: Providers, provider: string, upstream: unknown): Promise<void> => {
  const video = providers.find(provider)?.video
  if (upstream === null || video === undefined) return
  const signal = AbortSignal.timeout(timeoutMs)
  if (video.cancel === undefined) await video.discard?.(upstream as Opaque, signal)
  else await video.cancel(upstream as Opaque, signal)
}
