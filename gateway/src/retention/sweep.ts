/** Removes expired data, in parts that run at different intervals. */
import { removeOldTicks } from '../platform/engine/tick-store.ts'
import { removeOldServiceDays } from '../status/status-store.ts'
import { removeDueFiles } from '../storage/removal/remove-files.ts'
import { removeDueJobs } from '../videos/removal/remove-jobs.ts'
import { taskDaysRange } from './account-term-store.ts'
import { alignExpiry } from './align-expiry.ts'
import { deleteExpiredMetering, deleteExpiredTasks } from './delete-expired-tasks.ts'
import { dropExpiredPartitions } from './drop-expired-partitions.ts'
import { forgetRemoved, leftOverCharacters, leftOverImages } from './expired-media-store.ts'
import {
  removeClaimedJobs,
  removeDeletedCharacters,
  removeDeletedKeys,
  removeEndedSessions,
  removeExpiredResponses,
  removeUnusedEndpoints,
  removeWebhookReceipts,
} from './expired-row-store.ts'
import {
  removeOldAccountEvents,
  removeOldDeliveries,
  removeOldRequests,
  removeStrayAttempts,
} from './expired-task-store.ts'
import { removeOrphans } from './orphans.ts'
import { removeExpiredFiles } from './remove-expired-files.ts'
import { removeExpiredMedia, type ExpiryDependencies } from './remove-expired-media.ts'
import type { InstanceDays } from './retention-days.ts'

export interface SweepDependencies extends ExpiryDependencies {
  days: InstanceDays
}

export interface Swept {
  /** Files of expired results. */
  expired: number
  /** Files of images and characters that a finished task left behind. */
  leftOver: number
  /** Expired idempotency keys. */
  responses: number
  /** Expired tasks, each by the retention of its account. */
  tasks: number
  /** Dropped partitions. */
  partitions: string[]
  /** Files without a row. */
  orphans: number
  /** Files of deleted rows that were not removed with them. */
  files: number
  /** Jobs of deleted tasks, at their providers. */
  jobs: number
}

const rowsPerBatch = 1_000

/** Repeats a removal until a batch is not full. */
const untilDone = async (removeBatch: () => Promise<number>, signal: AbortSignal): Promise<number> => {
  let count = 0
  for (let removed = rowsPerBatch; removed >= rowsPerBatch && !signal.aborted;) {
    removed = await removeBatch()
    count += removed
  }
  return count
}

export const sweepFiles = async (
  dependencies: SweepDependencies,
  signal: AbortSignal,
): Promise<Pick<Swept, 'files'>> => ({ files: await removeDueFiles(dependencies, signal) })

export const sweepJobs = async (
  dependencies: SweepDependencies,
  signal: AbortSignal,
): Promise<Pick<Swept, 'jobs'>> => ({ jobs: await removeDueJobs(dependencies, signal) })

export const sweepMedia = async (
  dependencies: SweepDependencies,
  signal: AbortSignal,
): Promise<Pick<Swept, 'expired'>> => ({ expired: await removeExpiredMedia(dependencies, signal) })

export const sweepRows = async (
  dependencies: SweepDependencies,
  signal: AbortSignal,
): Promise<Pick<Swept, 'leftOver' | 'responses' | 'partitions' | 'tasks'>> => {
  const { postgres } = dependencies
  const days = dependencies.days()
  await removeOldTicks(postgres)
  await removeOldServiceDays(postgres)
  await alignExpiry(postgres, days, signal)
  const images = await removeExpiredFiles(dependencies, leftOverImages, signal)
  const characters = await removeExpiredFiles(dependencies, leftOverCharacters, signal)
  const responses = await untilDone(() => removeExpiredResponses(postgres, rowsPerBatch), signal)
  await untilDone(() => removeWebhookReceipts(postgres, rowsPerBatch), signal)
  await untilDone(() => removeEndedSessions(postgres, rowsPerBatch), signal)
  // Whole months first: nothing of them has to be deleted one by one.
  const dropped = signal.aborted ? [] : await dropExpiredPartitions(dependencies, days)
  const tasks = await deleteExpiredTasks(dependencies, days.task, signal)
  await deleteExpiredMetering(postgres, days.task, signal)
  await removeStrayAttempts(postgres, days.task)
  await untilDone(() => removeOldRequests(postgres, days.log, rowsPerBatch), signal)
  await untilDone(() => removeUnusedEndpoints(postgres, days.log, rowsPerBatch), signal)
  await untilDone(() => removeOldDeliveries(postgres, days.log, rowsPerBatch), signal)
  await untilDone(() => removeOldAccountEvents(postgres, days.log, rowsPerBatch), signal)
  await untilDone(() => forgetRemoved(postgres, days.task, rowsPerBatch), signal)
  await untilDone(() => removeDeletedCharacters(postgres, days.task, rowsPerBatch), signal)
  await untilDone(() => removeClaimedJobs(postgres, rowsPerBatch), signal)
  const { longest } = await taskDaysRange(postgres, days)
  await untilDone(() => removeDeletedKeys(postgres, Math.max(longest, days.log), rowsPerBatch), signal)
  return { leftOver: images + 2 * characters, responses, partitions: dropped, tasks }
}

export const sweepOrphans = async (
  dependencies: SweepDependencies,
  signal: AbortSignal,
): Promise<Pick<Swept, 'orphans'>> => ({ orphans: await removeOrphans(dependencies, signal) })

/** Runs all parts. Rows come first, because that applies the current retention settings to the media. */
export const sweep = async (dependencies: SweepDependencies, signal: AbortSignal): Promise<Swept> => ({
  ...(await sweepRows(dependencies, signal)),
  ...(await sweepMedia(dependencies, signal)),
  ...(await sweepFiles(dependencies, signal)),
  ...(await sweepJobs(dependencies, signal)),
  ...(await sweepOrphans(dependencies, signal)),
})
