import type { PricedWork } from '../models/price-rule.ts'
import type { VideoOrder } from './task.ts'

const inputOf = ({
  images = 0,
  remixOf,
  hasReferenceVideo,
}: VideoOrder): NonNullable<PricedWork['input']> => {
  if (remixOf !== undefined || hasReferenceVideo === true) return 'video'
  return images > 0 ? 'image' : 'text'
}

/** What prices and costs of a video depend on. */
export const pricedWorkOf = (order: VideoOrder): PricedWork => {
  const { seconds, width, height, sound = true, images = 0 } = order
  return {
    counted: { second: seconds, call: 1, ...(images > 0 && { image: images }) },
    ...{ width, height, sound },
    input: inputOf(order),
  }
}
