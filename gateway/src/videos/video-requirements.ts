import type { Requirements } from '../routing/route.ts'
import type { VideoOrder } from './task.ts'

/** What an order requires of a provider. A remix must run at `sourceProvider`, which made its source. */
export const requirementsOf = (
  { seconds, width, height, sound, isSoundOptional, remixOf, ...order }: VideoOrder,
  sourceProvider: string | undefined,
): Requirements => ({
  capability: 'video',
  video: {
    ...{ seconds, width, height, isRemix: remixOf !== undefined },
    isSilent: isSoundOptional === true && sound === false,
    hasVideo: order.hasReferenceVideo === true,
    hasAudio: order.hasReferenceAudio === true,
  },
  onlyAt: remixOf === undefined ? undefined : sourceProvider,
})
