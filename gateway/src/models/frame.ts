/** The width and height of a video at the endpoints that name a quality and an orientation instead. */
import { frameSize, type Dimensions, type VideoModel } from './model.ts'

export type Quality = 'small' | 'large'
export type Orientation = 'landscape' | 'portrait'

const orientationOf = ({ width, height }: Dimensions): Orientation | 'square' => {
  if (width === height) return 'square'
  return width > height ? 'landscape' : 'portrait'
}

const qualityOf = ({ width, height }: Dimensions): Quality =>
  Math.min(width, height) < 1080 ? 'small' : 'large'

interface WantedFrame {
  quality?: Quality | undefined
  orientation?: Orientation | undefined
}

/** What is not wanted is landscape and small, if there is such a frame. */
const byPreference = ['landscape', 'portrait', 'square'] as const

/** The frame of a model for a quality and an orientation; undefined if it has none. */
export const findFrame = (
  { frames }: Pick<VideoModel, 'frames'>,
  { quality, orientation }: WantedFrame,
): (Dimensions & { size: string }) | undefined => {
  const orientations = orientation === undefined ? byPreference : [orientation]
  const qualities = quality === undefined ? (['small', 'large'] as const) : [quality]
  for (const each of qualities) {
    for (const direction of orientations) {
      const found = frames.find((frame) => orientationOf(frame) === direction && qualityOf(frame) === each)
      if (found !== undefined) return { ...found, size: frameSize(found) }
    }
  }
  return undefined
}

/** Every width and height that the endpoints of a model make, under its id and its aliases, such as `1280x720`. */
export const resolutionsOf = (model: VideoModel): string[] => {
  const hasFrames = model.endpoints.some((path) => path !== '/v1/videos')
  const all = [model, ...Object.values(model.aliases)].flatMap(({ sizes = {}, frames = [] }) => [
    ...Object.values(sizes),
    ...(hasFrames ? frames : []),
  ])
  return [...new Set(all.map(frameSize))]
}
