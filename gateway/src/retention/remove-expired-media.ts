import type { Database } from '../platform/postgres.ts'
import type { Providers } from '../providers/port/provider.ts'
import { requestRetainedJobs } from '../videos/removal/job-removal-store.ts'
import { retainingProviders } from '../videos/removal/remove-jobs.ts'
import { dayOfTaskId } from '../videos/task-id.ts'
import { expiredFiles, findUnused, type ExpiredFile } from './expired-media-store.ts'
import { removeExpiredFiles, type RemoveDependencies } from './remove-expired-files.ts'

export interface ExpiryDependencies extends RemoveDependencies {
  providers: Providers
}

/** Removes expired results, and requests the same of providers that still have their jobs for remixes. */
export const removeExpiredMedia = (
  dependencies: ExpiryDependencies,
  signal: AbortSignal,
): Promise<number> => {
  const retaining = retainingProviders(dependencies.providers)
  const requestJobs = async (database: Database, removed: ExpiredFile[]): Promise<void> => {
    const tasks = removed.flatMap(({ taskId: id, kind }) => {
      const day = dayOfTaskId(id)
      return kind === 'video' && day !== undefined ? { id, day } : []
    })
    await requestRetainedJobs(database, tasks, retaining)
  }
  return removeExpiredFiles(dependencies, expiredFiles, signal, {
    choose: (due) => findUnused(dependencies.postgres, due),
    alongside: requestJobs,
  })
}
