import { findExpiredPartitions } from './drop-expired-partitions.ts'
import { countDueMedia, type DueMedia } from './expired-media-store.ts'
import { countExpiredResponses } from './expired-row-store.ts'
import { countExpiredTasks } from './expired-task-store.ts'
import { findOrphans } from './orphans.ts'
import type { Partition } from './partition-store.ts'
import type { SweepDependencies } from './sweep.ts'

export interface SweepPreview {
  media: DueMedia
  responses: number
  /** Expired tasks, without those that are sources of an open remix. */
  tasks: number
  partitions: Partition[]
  /** Expired, but something in them is still needed. */
  stuck: Partition[]
  orphans: { unknown: number; known: number }
}

/** Reports what a sweep would remove now, without changing anything. */
export const previewSweep = async (
  { postgres, mediaStore, days }: Pick<SweepDependencies, 'postgres' | 'mediaStore' | 'days'>,
  signal: AbortSignal,
): Promise<SweepPreview> => {
  const { expired, stuck } = await findExpiredPartitions(postgres, days())
  const { keys, known } = await findOrphans({ postgres, mediaStore }, signal)
  return {
    media: await countDueMedia(postgres, days()),
    tasks: await countExpiredTasks(postgres, days().task),
    responses: await countExpiredResponses(postgres),
    partitions: expired,
    stuck,
    orphans: { unknown: keys.length, known },
  }
}
