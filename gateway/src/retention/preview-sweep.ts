import { findPastPartitions } from './drop-expired-partitions.ts'
import { countPastReplies } from './expired-idempotency-store.ts'
import { countDueMedia, type DueMedia } from './expired-media-store.ts'
import { findOrphans, findSpooled } from './find-orphans.ts'
import type { Partition } from './partition-store.ts'
import type { ClearDependencies } from './sweep.ts'

export interface Foreseen {
  media: DueMedia
  replies: number
  partitions: Partition[]
  /** Past as well, but something in it is still needed. */
  stuck: Partition[]
  orphans: { unknown: number; known: number; spooled: number }
}

/** What would go if everything past were cleared now. Changes nothing. */
export const foreseeClearing = async (
  { postgres, mediaStore, days }: Pick<ClearDependencies, 'postgres' | 'mediaStore' | 'days'>,
  signal: AbortSignal,
): Promise<Foreseen> => {
  const { past, stuck } = await findPastPartitions(postgres, days())
  const { keys, known } = await findOrphans({ postgres, mediaStore }, signal)
  const spooled = await findSpooled(mediaStore)
  return {
    media: await countDueMedia(postgres, days()),
    replies: await countPastReplies(postgres),
    partitions: past,
    stuck,
    orphans: { unknown: keys.length, known, spooled: spooled.length },
  }
}
