/** What a model makes, and what a video of it costs, read from the list of models. */
import type { Model } from '@kinora/client'

export const videoPath = '/v1/videos'
export const taskPath = '/v1/video/create'
export type Endpoint = typeof videoPath | typeof taskPath

export type ImageRole = NonNullable<Model['images']>['roles'][number]

/** A size by its width and height. The name is the one that the endpoint takes, such as `16x9`. */
export interface Size {
  name: string
  width: number
  height: number
}

/** What an endpoint makes with a model. */
export interface Offer {
  model: Model
  endpoint: Endpoint
  /** The parameters of family A: one duration, no options for watermark and style. */
  isFamilyA: boolean
  /** The durations; undefined if all from `minSeconds` to `maxSeconds` can be made. */
  seconds: number[] | undefined
  minSeconds: number
  maxSeconds: number
  sizes: Size[]
  minImages: number
  maxImages: number
  roles: ImageRole[]
  sound: NonNullable<Model['sound']>
}

const nameSizes = (sizes: NonNullable<Model['sizes']>): Size[] =>
  sizes.map(({ size, width, height }) => ({ name: size, width, height }))

const isUpright = ({ width, height }: Size) => height > width
export const isLarge = ({ width, height }: Size): boolean => Math.min(width, height) >= 1_080

/** Only one frame of each quality and orientation can be asked for, and without `aspect_ratio` only the first one. */
const reachableFrames = (model: Model, isFamilyA: boolean): Size[] => {
  const frames = nameSizes(model.frames ?? [])
  const hasOrientation = !isFamilyA || model.aspect_ratios !== undefined
  const seen = new Set<string>()
  return frames.filter((frame) => {
    const kind = `${isLarge(frame)} ${hasOrientation && isUpright(frame)}`
    if (seen.has(kind)) return false
    seen.add(kind)
    return true
  })
}

/** The list does not name the family, but its parameters do. */
const readFamily = (model: Model): boolean =>
  model.sizes === undefined
    ? model.aspect_ratios !== undefined || model.durations?.length === 1
    : model.sizes.some(({ size }) => size === '16x9')

export const readOffer = (model: Model, endpoint: Endpoint): Offer | undefined => {
  if (model.kind !== 'video' || !model.endpoints.includes(endpoint)) return undefined
  const isFamilyA = readFamily(model)
  const maxImages = model.images?.max ?? 0
  const shared = {
    ...{ model, endpoint, isFamilyA, maxImages },
    roles: model.images?.roles ?? [],
    sound: model.sound ?? 'always',
  }
  if (endpoint === videoPath) {
    const { seconds } = model
    return {
      ...shared,
      seconds: seconds?.values ?? undefined,
      minSeconds: seconds?.min ?? 1,
      maxSeconds: seconds?.max ?? 1,
      sizes: nameSizes(model.sizes ?? []),
      minImages: isFamilyA ? Math.min(1, maxImages) : 0,
    }
  }
  const durations = (isFamilyA ? model.durations?.slice(0, 1) : model.durations) ?? []
  return {
    ...shared,
    seconds: durations,
    minSeconds: Math.min(...durations),
    maxSeconds: Math.max(...durations),
    sizes: reachableFrames(model, isFamilyA),
    minImages: isFamilyA ? 0 : Math.min(1, maxImages),
  }
}

/** What the playground makes with a model: at `/v1/videos` if it can. */
const readMainOffer = (model: Model): Offer | undefined =>
  readOffer(model, videoPath) ?? readOffer(model, taskPath)

export const offersOf = (models: Model[]): Offer[] =>
  models.flatMap((model) => (model.alias_of === undefined ? (readMainOffer(model) ?? []) : []))

/** `1280x720`, whatever name an endpoint has for it. */
export const formatSize = ({ width, height }: Pick<Size, 'width' | 'height'>): string => `${width}×${height}`

export const makesSeconds = ({ seconds, minSeconds, maxSeconds }: Offer, given: number): boolean =>
  seconds?.includes(given) ?? (given >= minSeconds && given <= maxSeconds)

export const findSize = ({ sizes }: Offer, wanted: Pick<Size, 'width' | 'height'>): Size | undefined =>
  sizes.find(({ width, height }) => width === wanted.width && height === wanted.height)

/** What a video costs by. */
export interface Costing {
  seconds: number
  width: number
  height: number
  hasSound: boolean
  images: number
}

/** The price in micros by the list, for comparisons. The quote of the service decides. */
export const estimatePrice = ({ prices, sound }: Model, costing: Costing): number => {
  const hasSound = sound === 'always' || (sound === 'optional' && costing.hasSound)
  const lines = Math.min(costing.width, costing.height)
  const input = costing.images > 0 ? 'image' : 'text'
  const applies = (price: Model['prices'][number]) =>
    (price.resolution === null ||
      [`${costing.width}x${costing.height}`, `${lines}p`].includes(price.resolution)) &&
    (price.sound === null || price.sound === hasSound) &&
    (price.input === null || price.input === input)
  const conditions = ({ resolution, sound: ofSound, input: ofInput }: Model['prices'][number]) =>
    [resolution, ofSound, ofInput].filter((each) => each !== null).length
  const best = (units: string[]) =>
    prices
      .filter((price) => units.includes(price.unit) && applies(price))
      .toSorted((left, right) => conditions(right) - conditions(left))[0]
  const main = best(['second', 'minute', 'video', 'call'])
  const quantity =
    main?.unit === 'second' ? costing.seconds : main?.unit === 'minute' ? costing.seconds / 60 : 1
  return Math.ceil((main?.unit_micros ?? 0) * quantity) + (best(['image'])?.unit_micros ?? 0) * costing.images
}

/** The price per second that is shown beside a model: the lowest of its prices. */
export const lowestPrice = ({ prices }: Model): Model['prices'][number] | undefined =>
  prices
    .filter(({ unit }) => unit !== 'image')
    .toSorted((left, right) => left.unit_micros - right.unit_micros)[0]

/** First those that need no image and leave most choices. */
export const sortPlain = (offers: Offer[]): Offer[] =>
  offers.toSorted(
    (left, right) =>
      left.minImages - right.minImages || (right.seconds?.length ?? 2) - (left.seconds?.length ?? 2),
  )

export const findPlainOffer = (offers: Offer[]): Offer | undefined => sortPlain(offers)[0]
