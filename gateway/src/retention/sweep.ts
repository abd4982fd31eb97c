/** Removes expired data, in three parts that run at different intervals. */
import { removeOldTicks } from '../platform/engine/tick-store.ts'
import { longestTaskDays } from './account-term-store.ts'
import { dropExpiredPartitions } from './drop-expired-partitions.ts'
import { forgetRemoved, leftOverCharacters, leftOverImages } from './expired-media-store.ts'
import {
  removeDeletedCharacters,
  removeExpiredResponses,
  removeWebhookReceipts,
} from './expired-row-store.ts'
import { alignMediaExpiry, alignTranscriptExpiry } from './expiry-store.ts'
import { removeOrphans, type OrphanDependencies } from './orphans.ts'
import { removeExpiredFiles } from './remove-expired-files.ts'
import { removeExpiredMedia, type ExpiryDependencies } from './remove-expired-media.ts'
import type { InstanceDays } from './retention-days.ts'

export interface SweepDependencies extends ExpiryDependencies, OrphanDependencies {
  days: InstanceDays
}

export interface Swept {
  /** Files of expired results. */
  expired: number
  /** Files of images and characters that a finished task left behind. */
  leftOver: number
  /** Expired idempotency keys. */
  responses: number
  /** Dropped partitions. */
  partitions: string[]
  /** Files without a row. */
  orphans: number
}

const rowsPerBatch = 1_000

/** Repeats a removal until a batch is not full. */
const untilDone = async (removeBatch: () => Promise<number>, signal: AbortSignal): Promise<number> => {
  let count = 0
  for (let removed = rowsPerBatch; removed === rowsPerBatch && !signal.aborted;) {
    removed = await removeBatch()
    count += removed
  }
  return count
}

export const sweepMedia = async (
  dependencies: SweepDependencies,
  signal: AbortSignal,
): Promise<Pick<Swept, 'expired'>> => ({ expired: await removeExpiredMedia(dependencies, signal) })

export const sweepRows = async (
  dependencies: SweepDependencies,
  signal: AbortSignal,
): Promise<Pick<Swept, 'leftOver' | 'responses' | 'partitions'>> => {
  const { postgres } = dependencies
  const days = dependencies.days()
  await removeOldTicks(postgres)
  await alignMediaExpiry(postgres, days)
  await alignTranscriptExpiry(postgres, days)
  const images = await removeExpiredFiles(dependencies, leftOverImages, signal)
  const characters = await removeExpiredFiles(dependencies, leftOverCharacters, signal)
  const responses = await untilDone(() => removeExpiredResponses(postgres, rowsPerBatch), signal)
  await untilDone(() => removeWebhookReceipts(postgres, rowsPerBatch), signal)
  const longestDays = await longestTaskDays(postgres, days)
  await untilDone(() => forgetRemoved(postgres, longestDays, rowsPerBatch), signal)
  await untilDone(() => removeDeletedCharacters(postgres, longestDays, rowsPerBatch), signal)
  const partitions = signal.aborted ? [] : await dropExpiredPartitions(dependencies, days)
  return { leftOver: images + 2 * characters, responses, partitions }
}

export const sweepOrphans = async (
  dependencies: SweepDependencies,
  signal: AbortSignal,
): Promise<Pick<Swept, 'orphans'>> => ({ orphans: await removeOrphans(dependencies, signal) })

/** Runs all parts. Rows come first, because that applies the current retention settings to the media. */
export const sweep = async (dependencies: SweepDependencies, signal: AbortSignal): Promise<Swept> => ({
  ...(await sweepRows(dependencies, signal)),
  ...(await sweepMedia(dependencies, signal)),
  ...(await sweepOrphans(dependencies, signal)),
})
