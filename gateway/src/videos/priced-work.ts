import type { PricedWork } from '../models/price-rule.ts'
import type { VideoOrder } from './task.ts'

/** What prices and costs of a video depend on. */
export const pricedWorkOf = ({
  seconds,
  width,
  height,
  sound,
  images = 0,
  remixOf,
}: VideoOrder): PricedWork => ({
  counted: { second: seconds, call: 1, ...(images > 0 && { image: images }) },
  width,
  height,
  sound: sound ?? true,
  input: remixOf !== undefined ? 'video' : images > 0 ? 'image' : 'text',
})
