/** The images and the video that a call of the SDK gives to a model. */
import {
  UnsupportedFunctionalityError,
  type Experimental_VideoModelV4CallOptions as CallOptions,
  type Experimental_VideoModelV4File as File,
  type SharedV4Warning,
} from '@ai-sdk/provider'
import { convertToBase64, convertBase64ToUint8Array } from '@ai-sdk/provider-utils'
import type { ImageRole } from '@kinora/contract/operations/video-fields'

import type { ModelFacts } from '../model-facts.ts'

interface GivenImage {
  file: File
  role: ImageRole
}

export interface GivenMedia {
  images: GivenImage[]
  /** The video that the new video is based on. */
  video: File | undefined
  warnings: SharedV4Warning[]
}

type Given = Pick<CallOptions, 'image' | 'frameImages' | 'inputReferences'>

const kindOf = ({ mediaType }: File) => mediaType?.split('/')[0] ?? 'image'

const reject = (functionality: string, message: string) =>
  new UnsupportedFunctionalityError({ functionality, message })

export const collectMedia = (
  modelId: string,
  { images: accepted, reference_video: acceptsVideo }: Pick<ModelFacts, 'images' | 'reference_video'>,
  { image, frameImages = [], inputReferences = [] }: Given,
): GivenMedia => {
  const last = frameImages.find(({ frameType }) => frameType === 'last_frame')
  const videos = inputReferences.filter((file) => kindOf(file) === 'video')
  const images: GivenImage[] = [
    ...(image ? [{ file: image, role: 'first_frame' } as const] : []),
    ...(last ? [{ file: last.image, role: 'last_frame' } as const] : []),
    ...inputReferences
      .filter((file) => kindOf(file) !== 'video')
      .map((file) => ({ file, role: 'reference' }) as const),
  ]
  const [video, ...otherVideos] = videos
  if (otherVideos.length > 0) throw reject('inputReferences', 'Kinora accepts one reference video.')
  if (video !== undefined && acceptsVideo === false)
    throw reject('inputReferences', `${modelId} accepts no reference video.`)
  const { max = images.length, roles = [] } = accepted ?? {}
  if (images.length > max) {
    const limit = max === 0 ? 'no images' : `at most ${max} ${max === 1 ? 'image' : 'images'}`
    throw reject('images', `${modelId} accepts ${limit}, and this call has ${images.length}.`)
  }
  if (last !== undefined && accepted !== undefined && !roles.includes('last_frame'))
    throw reject('frameImages', `${modelId} accepts no last frame.`)
  const others = images.filter(({ role }) => accepted !== undefined && !roles.includes(role))
  const warnings = others.map(({ role }): SharedV4Warning => ({
    type: 'other',
    message: `${modelId} does not use an image as ${role}. It uses this one as ${roles.join(' or ')}.`,
  }))
  return { images, video, warnings }
}

/** For a form. A link stays a link, which the service downloads. */
export const toFormValue = (file: File): Blob | string => {
  if (file.type === 'url') return file.url
  const bytes = typeof file.data === 'string' ? convertBase64ToUint8Array(file.data) : file.data
  return new Blob([bytes], { type: file.mediaType })
}

/** For JSON. */
export const toUrl = (file: File): string =>
  file.type === 'url' ? file.url : `data:${file.mediaType};base64,${convertToBase64(file.data)}`
