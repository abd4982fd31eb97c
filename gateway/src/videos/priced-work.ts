import { costOf } from '../billing/prices/price.ts'
import type { PricedWork } from '../models/price-rule.ts'
import type { Route } from '../routing/route.ts'
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

/** What a video costs at the provider of a route; undefined if unknown. */
export const costAt = (route: Pick<Route, 'costs'> | undefined, order: VideoOrder): number | undefined =>
  costOf(route?.costs, pricedWorkOf(order))
