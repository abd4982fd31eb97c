/** What is done when something's time is over, in three parts by how often each is worth a look. */
import { longestTaskDays } from './account-term-store.ts'
import { forgetDeletedCharacters } from './deleted-character-store.ts'
import { dropExpiredPartitions } from './drop-expired-partitions.ts'
import { removeExpiredResponses } from './expired-idempotency-store.ts'
import { forgetRemoved, leftCharacters, leftImages } from './expired-media-store.ts'
import { removeWebhookReceipts } from './expired-webhook-receipt-store.ts'
import { alignMediaExpiry, alignTranscriptExpiry } from './expiry-store.ts'
import { removeExpiredFiles } from './remove-expired-files.ts'
import { removeExpiredMedia, type ExpiryDependencies } from './remove-expired-media.ts'
import type { InstanceDays } from './retention-days.ts'
import { sweepFiles } from './sweep-files.ts'

export interface ClearDependencies extends ExpiryDependencies {
  days: InstanceDays
}

export interface Cleared {
  /** Files of results past their time. */
  expired: number
  /** Pictures and characters that their task left behind. */
  left: number
  /** Kept replies that no request is repeated for any more. */
  replies: number
  /** Partitions whose every row was past. */
  partitions: string[]
  /** Files that nothing on record led to. */
  orphans: number
}

const rowsPerBatch = 1_000

/** Repeats what clears a batch at a time until there is no more. */
const untilDone = async (clear: () => Promise<number>, signal: AbortSignal): Promise<number> => {
  let count = 0
  for (let cleared = rowsPerBatch; cleared === rowsPerBatch && !signal.aborted;) {
    cleared = await clear()
    count += cleared
  }
  return count
}

export const clearMedia = async (
  dependencies: ClearDependencies,
  signal: AbortSignal,
): Promise<Pick<Cleared, 'expired'>> => ({ expired: await removeExpiredMedia(dependencies, signal) })

export const clearRecords = async (
  dependencies: ClearDependencies,
  signal: AbortSignal,
): Promise<Pick<Cleared, 'left' | 'replies' | 'partitions'>> => {
  const { postgres } = dependencies
  const days = dependencies.days()
  await alignMediaExpiry(postgres, days)
  await alignTranscriptExpiry(postgres, days)
  const images = await removeExpiredFiles(dependencies, leftImages, signal)
  const characters = await removeExpiredFiles(dependencies, leftCharacters, signal)
  const replies = await untilDone(() => removeExpiredResponses(postgres, rowsPerBatch), signal)
  await untilDone(() => removeWebhookReceipts(postgres, rowsPerBatch), signal)
  const longestDays = await longestTaskDays(postgres, days)
  await untilDone(() => forgetRemoved(postgres, longestDays, rowsPerBatch), signal)
  await untilDone(() => forgetDeletedCharacters(postgres, longestDays, rowsPerBatch), signal)
  const partitions = signal.aborted ? [] : await dropExpiredPartitions(dependencies, days)
  return { left: images + 2 * characters, replies, partitions }
}

export const clearFiles = async (
  dependencies: ClearDependencies,
  signal: AbortSignal,
): Promise<Pick<Cleared, 'orphans'>> => ({ orphans: await sweepFiles(dependencies, signal) })

/** All of it at once. Terms are brought in line first, so that what they make past goes too. */
export const sweep = async (dependencies: ClearDependencies, signal: AbortSignal): Promise<Cleared> => ({
  ...(await clearRecords(dependencies, signal)),
  ...(await clearMedia(dependencies, signal)),
  ...(await clearFiles(dependencies, signal)),
})
