import { findExpiredPartitions } from './drop-expired-partitions.ts'
import { countDueMedia, type DueMedia } from './expired-media-store.ts'
import { countExpiredResponses } from './expired-row-store.ts'
import { findOrphans, findSpooled } from './orphans.ts'
import type { Partition } from './partition-store.ts'
import type { SweepDependencies } from './sweep.ts'

export interface SweepPreview {
  media: DueMedia
  responses: number
  partitions: Partition[]
  /** Expired, but something in them is still needed. */
  stuck: Partition[]
  orphans: { unknown: number; known: number; spooled: number }
}

/** Reports what a sweep would remove now, without changing anything. */
export const previewSweep = async (
  {
    postgres,
    mediaStore,
    spool,
    days,
  }: Pick<SweepDependencies, 'postgres' | 'mediaStore' | 'spool' | 'days'>,
  signal: AbortSignal,
): Promise<SweepPreview> => {
  const { expired, stuck } = await findExpiredPartitions(postgres, days())
  const { keys, known } = await findOrphans({ postgres, mediaStore }, signal)
  const spooled = await findSpooled(spool)
  return {
    media: await countDueMedia(postgres, days()),
    responses: await countExpiredResponses(postgres),
    partitions: expired,
    stuck,
    orphans: { unknown: keys.length, known, spooled: spooled.length },
  }
}
