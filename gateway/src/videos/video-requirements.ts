import type { Requirements } from '../routing/route.ts'
import type { VideoOrder } from './task.ts'

/** What an order needs of whoever makes its video. A remix is made where its source was, by `maker`. */
export const requirementsOf = (
  { seconds, width, height, remixOf }: VideoOrder,
  maker: string | undefined,
): Requirements => ({
  capability: 'video',
  video: { seconds, width, height, isRemix: remixOf !== undefined },
  onlyAt: remixOf === undefined ? undefined : maker,
})
