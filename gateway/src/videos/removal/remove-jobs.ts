/** Deletes jobs at their providers after their task was deleted or has ended. What fails is tried again for 30 days. */
import pLimit from 'p-limit'

import type { Log } from '../../platform/log.ts'
import type { Database } from '../../platform/postgres.ts'
import type { Provider, Providers } from '../../providers/port/provider.ts'
import type { Opaque } from '../../providers/port/video.ts'
import type { JobKeeping } from '../task-store.ts'
import {
  forgetJobRemovals,
  giveUpJobRemovals,
  takeDueJobRemovals,
  type JobRemoval,
} from './job-removal-store.ts'

export interface JobDependencies {
  postgres: Database
  providers: Providers
  log: Log
}

const perBatch = 100
/** The rest follows in the next sweep, so that a provider that does not respond does not occupy one for hours. */
const batchesMax = 10
const concurrency = 8
const timeoutMs = 10_000

const deletesJobs = ({ video }: Provider) => video?.discard !== undefined
const retainsJobs = (provider: Provider) => provider.video?.remixesOwnJobs === true && deletesJobs(provider)

const namesOf = (providers: Providers, isOne: (provider: Provider) => boolean): string[] =>
  providers
    .known()
    .filter(isOne)
    .map(({ name }) => name)

/** The names of providers that keep the jobs of completed tasks for remixes, and can delete them. */
export const retainingProviders = (providers: Providers): string[] => namesOf(providers, retainsJobs)

export const jobKeepingOf = (providers: Providers): JobKeeping => ({
  deleting: namesOf(providers, deletesJobs),
  retaining: retainingProviders(providers),
})

/** Tries once and does not fail, because the sweep tries again. Returns the number of jobs that need no further try. */
export const removeJobs = async (
  { postgres, providers, log }: JobDependencies,
  removals: JobRemoval[],
): Promise<number> => {
  const limited = pLimit(concurrency)
  /** True if the job is gone, or its provider cannot delete jobs. A provider that is unknown now may be configured again. */
  const tryDiscard = async ({ provider: name, upstream, taskId }: JobRemoval): Promise<boolean> => {
    const provider = providers.find(name)
    if (provider === undefined) return false
    try {
      await provider.video?.discard?.(upstream as Opaque, AbortSignal.timeout(timeoutMs))
      return true
    } catch (error) {
      log.warn({ err: error, taskId, provider: name }, 'job.not-removed')
      return false
    }
  }
  const tried = await Promise.all(
    removals.map((removal) => limited(async () => ((await tryDiscard(removal)) ? [removal.id] : []))),
  )
  const done = tried.flat()
  if (done.length === 0) return 0
  await forgetJobRemovals(postgres, done).catch((error: unknown) =>
    log.warn({ err: error }, 'job.removal-not-noted'),
  )
  return done.length
}

/** Deletes the jobs whose removal is due again. */
export const removeDueJobs = async (dependencies: JobDependencies, signal: AbortSignal): Promise<number> => {
  const { postgres, log } = dependencies
  for (const { taskId, provider } of await giveUpJobRemovals(postgres)) {
    log.error({ taskId, provider }, 'job.given-up')
  }
  let count = 0
  for (let batch = 0; batch < batchesMax && !signal.aborted; batch += 1) {
    const due = await takeDueJobRemovals(postgres, perBatch)
    count += await removeJobs(dependencies, due)
    if (due.length < perBatch) break
  }
  return count
}
