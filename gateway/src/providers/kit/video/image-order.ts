import type { ImageRole, VideoJob } from '../../port/video.ts'

const order: ImageRole[] = ['first_frame', 'last_frame', 'reference', 'style']

/** The images in the order that protocols without roles expect: the first frame, the last frame, then all others. */
export const inOrder = (references: VideoJob['references']): VideoJob['references'] =>
  references.toSorted((one, other) => order.indexOf(one.role) - order.indexOf(other.role))

/** Whether the images are the first and the last frame. */
export const areFrames = (references: VideoJob['references']): boolean =>
  references.some(({ role }) => role === 'first_frame' || role === 'last_frame')
