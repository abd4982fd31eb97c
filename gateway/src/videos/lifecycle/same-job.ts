import { isDeepStrictEqual } from 'node:util'

import type { Opaque, VideoProvider } from '../../providers/port/video.ts'

/** Whether two references of a provider are of one job; where it does not say, they are if they are equal. */
export const isSameJob = (video: Pick<VideoProvider, 'isSameJob'>, one: Opaque, other: Opaque): boolean =>
  video.isSameJob?.(one, other) ?? isDeepStrictEqual(one, other)
