import pLimit from 'p-limit'

import type { Providers } from '../providers/port/provider.ts'
import { discardRetainedJob } from '../videos/lifecycle/discard-job.ts'
import { dayOfTaskId } from '../videos/task-id.ts'
import { findProviderJob } from '../videos/task-store.ts'
import { expiredFiles, findUnused, type ExpiredFile } from './expired-media-store.ts'
import { removeExpiredFiles, type RemoveDependencies } from './remove-expired-files.ts'

export interface ExpiryDependencies extends RemoveDependencies {
  providers: Providers
}

const discardConcurrency = 8

/** Removes expired results, here and, if the provider still has the job for remixes, there too. */
export const removeExpiredMedia = (
  dependencies: ExpiryDependencies,
  signal: AbortSignal,
): Promise<number> => {
  const { postgres, providers, log } = dependencies
  const limited = pLimit(discardConcurrency)
  const isAnyRetained = providers.all().some(({ video }) => video?.remixesOwnJobs === true)

  const discard = async ({ taskId, kind }: ExpiredFile): Promise<void> => {
    const day = dayOfTaskId(taskId)
    if (kind !== 'video' || day === undefined) return
    try {
      const job = await findProviderJob(postgres, day, taskId)
      if (job !== undefined) await discardRetainedJob(providers, job)
    } catch (error) {
      // A failure at the provider must not delay the removal of our file.
      log.warn({ err: error, taskId }, 'retention.not-discarded')
    }
  }

  return removeExpiredFiles(dependencies, expiredFiles, signal, async (due) => {
    const unused = await findUnused(postgres, due)
    if (isAnyRetained) await Promise.all(unused.map((file) => limited(() => discard(file))))
    return unused
  })
}
