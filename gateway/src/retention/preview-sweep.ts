import { findExpiredPartitions } from './drop-expired-partitions.ts'
import { countExpiredResponses } from './expired-idempotency-store.ts'
import { countDueMedia, type DueMedia } from './expired-media-store.ts'
import { findOrphans, findSpooled } from './find-orphans.ts'
import type { Partition } from './partition-store.ts'
import type { ClearDependencies } from './sweep.ts'

export interface SweepPreview {
  media: DueMedia
  replies: number
  partitions: Partition[]
  /** Past as well, but something in it is still needed. */
  stuck: Partition[]
  orphans: { unknown: number; known: number; spooled: number }
}

/** What would go if everything past were cleared now. Changes nothing. */
export const previewSweep = async (
  { postgres, mediaStore, days }: Pick<ClearDependencies, 'postgres' | 'mediaStore' | 'days'>,
  signal: AbortSignal,
): Promise<SweepPreview> => {
  const { expired, stuck } = await findExpiredPartitions(postgres, days())
  const { keys, known } = await findOrphans({ postgres, mediaStore }, signal)
  const spooled = await findSpooled(mediaStore)
  return {
    media: await countDueMedia(postgres, days()),
    replies: await countExpiredResponses(postgres),
    partitions: expired,
    stuck,
    orphans: { unknown: keys.length, known, spooled: spooled.length },
  }
}
