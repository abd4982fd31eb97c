/**
 * The settings of a video model: what its requests may ask for, which an alias can have for itself, and what the model is
 * under every name.
 */
import { imageRoles } from '@kinora/contract/operations/video-fields'
import { Type, type Static, type TObject } from 'typebox'

import { frameSize, type Dimensions, type VideoModel, type VideoRequests } from '../models/model.ts'
import type { RouteConfig } from './config.ts'
import { size } from './route-config.ts'
import { wholeNumber } from './setting-types.ts'
import type { Problem, RawConfig } from './validate-config.ts'

const dimensionsOf = (given: string): Dimensions => {
  const [width = 0, height = 0] = given.split('x').map(Number)
  return { width, height }
}

/** The frames of a model that states no sizes: about 720p and 1080p. */
const standardFrames = ['1280x720', '720x1280', '1920x1080', '1080x1920']

const durations = (description: string) =>
  Type.Optional(Type.Array(wholeNumber({ minimum: 1, maximum: 3_600 }), { minItems: 1, description }))

const durationsAndSizes = {
  seconds: durations('The durations at `POST /v1/videos`, such as `[4, 8, 12]`.'),
  secondsMin: Type.Optional(
    wholeNumber({
      minimum: 1,
      description: 'With `secondsMax`, instead of `seconds`: every duration from here.',
    }),
  ),
  secondsMax: Type.Optional(
    wholeNumber({ minimum: 1, maximum: 3_600, description: 'The longest duration, with `secondsMin`.' }),
  ),
  durations: durations(
    'The durations at `POST /v1/video/create`, the default one first, which is also that of chats. Default: `seconds`.',
  ),
  sizes: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 40 }), {
      minItems: 1,
      description: 'The values of `size` at `POST /v1/videos`, such as `[1280x720]`.',
    }),
  ),
  frames: Type.Optional(
    Type.Array(size, {
      minItems: 1,
      description: `The sizes at \`POST /v1/video/create\` and in chats. A request chooses the first one that is small or large (1080 pixels or more on the shorter side) and landscape or portrait as it wants; by default it is small and landscape. Default: \`sizes\`; without those, ${standardFrames.join(', ')}, as far as a route makes them.`,
    }),
  ),
  sizeNames: Type.Optional(
    Type.Record(Type.String(), size, {
      description: 'The width and height of sizes that are only names, such as `{16x9: 1280x720}`.',
    }),
  ),
}

const images = { minimum: 0, maximum: 20, description: 'Reference images that a request may have.' }
const imageRole = Type.Enum([...imageRoles])
const roles = {
  minItems: 1,
  description:
    'How the images are used: `first_frame`, `last_frame`, `reference` (shown in the video) or `style`. The first image has the first role, and so on; the last role is that of all others. With several roles, requests may choose.',
}
const referenceVideo = { description: 'Whether a request may have a reference video, as `reference_video`.' }
const referenceAudio = { description: 'Whether a request may have a reference audio, as `reference_audio`.' }

export const videoSettings = {
  family: Type.Enum(['A', 'B'], {
    description: 'The parameters of its requests and the form of its responses: those of family A or B.',
  }),
  ...durationsAndSizes,
  aspectRatios: Type.Optional(
    Type.Array(Type.Enum(['16:9', '9:16']), {
      minItems: 1,
      description:
        'The values of `aspect_ratio` at `POST /v1/video/create` in family A. Default: no such parameter.',
    }),
  ),
  images: wholeNumber({ ...images, default: 1 }),
  imageRoles: Type.Array(imageRole, { ...roles, default: ['style'] }),
  referenceVideo: Type.Boolean({ ...referenceVideo, default: false }),
  referenceAudio: Type.Boolean({ ...referenceAudio, default: false }),
  sound: Type.Enum(['always', 'never', 'optional'], {
    default: 'always',
    description:
      'Whether its videos have sound. With `optional`, requests have the parameter `sound`, and the provider is told.',
  }),
  usualSeconds: wholeNumber({
    minimum: 1,
    default: 120,
    description: 'The usual time to make a video, for estimates of progress.',
  }),
}

/** What an alias can have for itself. Nothing has a default, because the model has the setting. */
export const videoAliasSettings = {
  ...durationsAndSizes,
  images: Type.Optional(wholeNumber(images)),
  imageRoles: Type.Optional(Type.Array(imageRole, roles)),
  referenceVideo: Type.Optional(Type.Boolean(referenceVideo)),
  referenceAudio: Type.Optional(Type.Boolean(referenceAudio)),
}

type VideoValues = Static<TObject<typeof videoSettings>>
type AliasValues = Static<TObject<typeof videoAliasSettings>>
type Report = (path: Problem['path'], message: string) => void

/**
 * Earlier settings that a change of others replaces, too: who sets `sizes` or `seconds` does not expect others at some
 * endpoints.
 */
export const replacedBy = (changes: RawConfig): string[] => [
  ...('sizes' in changes ? ['frames'] : []),
  ...('seconds' in changes ? ['secondsMin', 'secondsMax', 'durations'] : []),
  ...('secondsMin' in changes || 'secondsMax' in changes ? ['seconds', 'durations'] : []),
]

/** The settings of a model under an alias. */
export const withAlias = <Values extends VideoValues>(values: Values, alias: AliasValues): Values => {
  const replaced = replacedBy(alias)
  return {
    ...Object.fromEntries(Object.entries(values).filter(([name]) => !replaced.includes(name))),
    ...alias,
    sizeNames: { ...values.sizeNames, ...alias.sizeNames },
  } as Values
}

const secondsOf = (values: VideoValues, report: Report): VideoModel['seconds'] => {
  const { seconds, secondsMin, secondsMax } = values
  if (seconds !== undefined && (secondsMin !== undefined || secondsMax !== undefined)) {
    report(['seconds'], 'cannot be combined with secondsMin and secondsMax')
  }
  if (seconds !== undefined) return seconds
  if (secondsMin === undefined && secondsMax === undefined) return []
  const [least, most] = [secondsMin ?? 1, secondsMax ?? 0]
  if (least > most) report(['secondsMax'], `must be at least secondsMin, which is ${least}`)
  return { least, most }
}

type Routes = Pick<RouteConfig, 'sizes'>[] | undefined

/** A model without routes, and a route without sizes, make every size. */
const isMade = (routes: Routes, made: string): boolean =>
  routes === undefined ||
  routes.length === 0 ||
  routes.some(({ sizes }) => sizes === undefined || sizes.includes(made))

const notMade = (made: string) =>
  `is ${made}, which no route makes: add it to the sizes of a route, or remove it here`

const sizesOf = (
  { sizes = [], sizeNames = {} }: VideoValues,
  routes: Routes,
  report: Report,
): VideoModel['sizes'] => {
  const names = new Map(Object.entries(sizeNames))
  return Object.fromEntries(
    sizes.map((each, index) => {
      const { width, height } = dimensionsOf(names.get(each) ?? each)
      if (!(width > 0 && height > 0)) {
        report(['sizes', index], `must be a size such as 1280x720, or have one in sizeNames, not "${each}"`)
      } else if (!isMade(routes, frameSize({ width, height }))) {
        report(['sizes', index], notMade(frameSize({ width, height })))
      }
      return [each, { width, height }]
    }),
  )
}

const framesOf = (
  { sizes, frames }: VideoValues,
  named: VideoModel['sizes'],
  routes: Routes,
  report: Report,
): Dimensions[] => {
  if (frames === undefined) {
    if (sizes !== undefined) return Object.values(named)
    return standardFrames.filter((frame) => isMade(routes, frame)).map(dimensionsOf)
  }
  for (const [index, each] of frames.entries()) {
    if (!isMade(routes, each)) report(['frames', index], notMade(each))
  }
  return frames.map(dimensionsOf)
}

const imageRolesOf = (
  { imageRoles: [first = 'style', ...others] }: VideoValues,
  report: Report,
): VideoModel['imageRoles'] => {
  const given: VideoModel['imageRoles'] = [first, ...others]
  if (new Set(given).size < given.length) report(['imageRoles'], 'must not have a role twice')
  if (given.includes('last_frame') && given.indexOf('first_frame') !== given.indexOf('last_frame') - 1) {
    report(['imageRoles'], 'must have first_frame directly before last_frame')
  }
  return given
}

/** What requests may ask for under one name of a model. `routes` are undefined if the model has none of its own. */
export const requestsOf = (
  values: VideoValues,
  endpoints: string[],
  routes: Routes,
  report: Report,
): VideoRequests => {
  const sizes = sizesOf(values, routes, report)
  const frames = framesOf(values, sizes, routes, report)
  if (frames.length === 0 && endpoints.some((path) => path !== '/v1/videos')) {
    const message = `is required, because no route makes one of ${standardFrames.join(', ')}: the sizes that a route makes`
    report(['frames'], message)
  }
  const seconds = secondsOf(values, report)
  const listed = Array.isArray(seconds) ? seconds : [seconds.least]
  const [first, ...others] = values.durations ?? listed
  if (endpoints.includes('/v1/videos')) {
    if (listed.length === 0)
      report(['seconds'], 'is required at /v1/videos: the durations, such as [4, 8, 12]')
    if (values.sizes === undefined)
      report(['sizes'], 'is required at /v1/videos: such as [1280x720, 720x1280]')
  } else if (first === undefined) {
    report(['durations'], 'is required: the durations, the default one first, such as [8]')
  }
  return {
    seconds,
    durations: [first ?? 1, ...others],
    sizes,
    frames,
    imagesMax: values.images,
    imageRoles: imageRolesOf(values, report),
    usesVideo: values.referenceVideo,
    usesAudio: values.referenceAudio,
  }
}
