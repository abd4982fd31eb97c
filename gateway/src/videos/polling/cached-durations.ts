/** The durations of jobs for processes that only show estimates. They are read in the background, when they are needed. */
import type { Log } from '../../platform/log.ts'
import type { Database } from '../../platform/postgres.ts'
import { loadDurations, type JobDurations } from './job-durations.ts'

const freshMs = 30_000

export interface CachedDurations extends Pick<JobDurations, 'of'> {
  refresh: () => Promise<void>
}

export const createCachedDurations = (database: Database, log: Log): CachedDurations => {
  let known: JobDurations['of'] = () => undefined
  let readAtMs = -Infinity
  const refresh = async () => {
    readAtMs = performance.now()
    known = await loadDurations(database)
  }
  return {
    of: (provider, model) => {
      if (performance.now() - readAtMs > freshMs) {
        refresh().catch((error: unknown) => log.warn({ err: error }, 'job-durations.not-read'))
      }
      return known(provider, model)
    },
    refresh,
  }
}
