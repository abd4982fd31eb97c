import type { Dimensions, VideoModel } from './model.ts'

const landscape = { small: { width: 1280, height: 720 }, large: { width: 1920, height: 1080 } }

/** The frame size for a quality (720p or 1080p) and an orientation. */
export const frameOf = (
  quality: 'small' | 'large',
  orientation: 'landscape' | 'portrait',
): Dimensions & { size: string } => {
  const { width: long, height: short } = landscape[quality]
  const frame = orientation === 'landscape' ? { width: long, height: short } : { width: short, height: long }
  return { ...frame, size: `${frame.width}x${frame.height}` }
}

/** Every width and height that the endpoints of a model make, such as `1280x720`. */
export const resolutionsOf = ({ endpoints, sizes }: VideoModel): string[] => {
  const named = Object.values(sizes).map(({ width, height }) => `${width}x${height}`)
  const byOrientation = (quality: 'small' | 'large') =>
    (['landscape', 'portrait'] as const).map((orientation) => frameOf(quality, orientation).size)
  return [
    ...new Set([
      ...named,
      ...(endpoints.includes('/v1/video/create')
        ? [...byOrientation('small'), ...byOrientation('large')]
        : []),
      ...(endpoints.includes('/v1/chat/completions') ? byOrientation('small') : []),
    ]),
  ]
}
