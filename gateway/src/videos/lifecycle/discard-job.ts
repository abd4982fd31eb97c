/** Cleans up a provider's job once its task has ended. This is best effort: the task does not depend on it. */
import type { Providers } from '../../providers/port/provider.ts'
import type { Opaque } from '../../providers/port/video.ts'
import type { FinishedTask } from '../task-store.ts'
import type { Ending } from '../task.ts'

const timeoutMs = 10_000

/** Deletes a job at its provider, unless a remix may still need it. */
export const discardJob =
  (providers: Providers) =>
  async ({ provider, upstream, family }: FinishedTask, ending: Ending): Promise<void> => {
    if (upstream === null) return
    // The job may still be running.
    if (ending.kind === 'failed' && ending.code === 'task_timeout') {
      await cancelJob(providers, provider, upstream)
      return
    }
    const video = providers.find(provider)?.video
    if (ending.kind === 'completed' && family === 'B' && video?.remixesOwnJobs === true) return
    await video?.discard?.(upstream as Opaque, AbortSignal.timeout(timeoutMs))
  }

/** Deletes a job that the provider retained for remixes, after its task was deleted. */
export const discardRetainedJob = async (
  providers: Providers,
  { provider, upstream }: { provider: string; upstream: unknown },
): Promise<void> => {
  const video = providers.find(provider)?.video
  if (upstream === null || video?.remixesOwnJobs !== true) return
  await video.discard?.(upstream as Opaque, AbortSignal.timeout(timeoutMs))
}

/** Cancels a job at its provider; a provider without cancellation deletes it. */
export const cancelJob = async (providers: Providers, provider: string, upstream: unknown): Promise<void> => {
  const video = providers.find(provider)?.video
  if (upstream === null || video === undefined) return
  const signal = AbortSignal.timeout(timeoutMs)
  if (video.cancel === undefined) await video.discard?.(upstream as Opaque, signal)
  else await video.cancel(upstream as Opaque, signal)
}
