/** Which of a model's sizes a call of the SDK means. */
import { UnsupportedFunctionalityError } from '@ai-sdk/provider'

import type { ModelFacts } from '../model-facts.ts'

type Size = NonNullable<ModelFacts['sizes']>[number]

export interface SizeRequest {
  aspectRatio: string | undefined
  resolution: string | undefined
}

/** Sizes such as 848x480 are a little off their ratio. */
const ratioTolerance = 0.02

const ratioOf = (text: string, separator: string): number => {
  const [width = 0, height = 0] = text.split(separator).map(Number)
  return width / height
}

const isClose = (one: number, other: number) => Math.abs(one / other - 1) < ratioTolerance

export const hasRatio = ({ width, height }: Pick<Size, 'width' | 'height'>, aspectRatio: string) =>
  isClose(width / height, ratioOf(aspectRatio, ':'))

const shown = ({ width, height }: Size) => `${width}x${height}`

const reject = (modelId: string, feature: string, sizes: Size[]) =>
  new UnsupportedFunctionalityError({
    functionality: feature,
    message: `${modelId} has no size with the ${feature}. Its sizes are: ${sizes.map(shown).join(', ')}.`,
  })

/**
 * The first size that has what the call asks for; undefined if it asks for nothing. There is no nearest size, because the
 * caller would pay for a video that they did not ask for.
 */
export const chooseSize = (modelId: string, sizes: Size[], request: SizeRequest): Size | undefined => {
  const { resolution } = request
  const aspectRatio = request.aspectRatio === 'adaptive' ? undefined : request.aspectRatio
  if (resolution !== undefined) {
    const size = sizes.find((each) => shown(each) === resolution)
    if (size === undefined) throw reject(modelId, `resolution ${resolution}`, sizes)
    if (aspectRatio !== undefined && !hasRatio(size, aspectRatio))
      throw reject(modelId, `resolution ${resolution} and the aspect ratio ${aspectRatio}`, sizes)
    return size
  }
  if (aspectRatio === undefined) return undefined
  const size = sizes.find((each) => hasRatio(each, aspectRatio))
  if (size === undefined) throw reject(modelId, `aspect ratio ${aspectRatio}`, sizes)
  return size
}
