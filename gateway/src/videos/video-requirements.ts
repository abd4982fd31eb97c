import type { Need } from '../routing/route.ts'
import type { VideoOrder } from './task.ts'

/** What an order needs of whoever makes its video. A remix is made where its source was, by `maker`. */
export const needOf = ({ seconds, width, height, remixOf }: VideoOrder, maker: string | undefined): Need => ({
  capability: 'video',
  video: { seconds, width, height, isRemix: remixOf !== undefined },
  onlyAt: remixOf === undefined ? undefined : maker,
})
