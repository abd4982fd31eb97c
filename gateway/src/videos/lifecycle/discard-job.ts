/** What a provider is told of a job once its task has ended. All of it is a courtesy: the task does not wait for it. */
import type { Providers } from '../../providers/port/provider.ts'
import type { Opaque } from '../../providers/port/video.ts'
import type { FinishedTask } from '../task-store.ts'
import type { Ending } from '../task.ts'

const timeoutMs = 10_000

/** Lets a provider forget a job, unless it may yet be asked to make a remix of it. */
export const discardJob =
  (providers: Providers) =>
  async ({ provider, upstream, family }: FinishedTask, ending: Ending): Promise<void> => {
    if (upstream === null) return
    // Nobody waits for it any longer, and it may still be at work.
    if (ending.kind === 'failed' && ending.code === 'task_timeout') {
      await stopUpstream(providers, provider, upstream)
      return
    }
    const video = providers.find(provider)?.video
    if (ending.kind === 'completed' && family === 'B' && video?.remixesOwnJobs === true) return
    await video?.discard?.(upstream as Opaque, AbortSignal.timeout(timeoutMs))
  }

/** Lets a provider forget a job that it was to keep for remixes, now that its task is deleted. */
export const discardKept = async (
  providers: Providers,
  { provider, upstream }: { provider: string; upstream: unknown },
): Promise<void> => {
  const video = providers.find(provider)?.video
  if (upstream === null || video?.remixesOwnJobs !== true) return
  await video.discard?.(upstream as Opaque, AbortSignal.timeout(timeoutMs))
}

/** Asks a provider to stop a job that nobody waits for any longer; one that cannot stop it may forget it. */
export const stopUpstream = async (
  providers: Providers,
  provider: string,
  upstream: unknown,
): Promise<void> => {
  const video = providers.find(provider)?.video
  if (upstream === null || video === undefined) return
  const signal = AbortSignal.timeout(timeoutMs)
  if (video.cancel === undefined) await video.discard?.(upstream as Opaque, signal)
  else await video.cancel(upstream as Opaque, signal)
}
