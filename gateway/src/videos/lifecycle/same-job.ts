import { isDeepStrictEqual } from 'node:util'

import type { Opaque, VideoProvider } from '../../providers/port/video.ts'

/** Whether two references of a provider name the same job. A provider without its own comparison compares them by value. */
export const isSameJob = (video: Pick<VideoProvider, 'isSameJob'>, one: Opaque, other: Opaque): boolean =>
  video.isSameJob?.(one, other) ?? isDeepStrictEqual(one, other)
