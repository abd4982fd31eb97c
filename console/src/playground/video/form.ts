/** The form of a video: its values, what is wrong with them, and the request that it sends. */
import type { CreateVideoParams, CreateVideoTaskParams } from '@kinora/client'

import {
  findSize,
  isLarge,
  makesSeconds,
  taskPath,
  type Costing,
  type ImageRole,
  type Offer,
  type Size,
} from './offers.ts'

export interface FormImage {
  id: string
  file: Blob
  name: string
  /** For the preview. */
  url: string
  role?: ImageRole
}

export interface VideoForm {
  model: string
  prompt: string
  seconds: number
  width: number
  height: number
  images: FormImage[]
  hasSound: boolean
  hasWatermark: boolean
  isPrivate: boolean
  style: string
  enhances: boolean
}

export const promptCharactersMax = 32_000
export const imageBytesMax = 20 * 1024 * 1024

export const emptyForm: VideoForm = {
  ...{ model: '', prompt: '', seconds: 8, width: 1280, height: 720, images: [] },
  ...{ hasSound: true, hasWatermark: true, isPrivate: false, style: '', enhances: false },
}

export type Problem = 'prompt' | 'seconds' | 'size' | 'fewImages' | 'manyImages' | 'style'

export const readCosting = ({ seconds, width, height, hasSound, images }: VideoForm): Costing => ({
  ...{ seconds, width, height, hasSound },
  images: images.length,
})

/** Why this offer cannot make the video of the form. */
export const findProblems = (form: VideoForm, offer: Offer): Problem[] => {
  const problems: Problem[] = []
  if (form.prompt.trim() === '' || form.prompt.length > promptCharactersMax) problems.push('prompt')
  if (!makesSeconds(offer, form.seconds) || !Number.isInteger(form.seconds)) problems.push('seconds')
  if (findSize(offer, form) === undefined) problems.push('size')
  if (form.images.length < offer.minImages) problems.push('fewImages')
  if (form.images.length > offer.maxImages) problems.push('manyImages')
  if (form.style !== '' && !/^[A-Za-z0-9_-]{1,64}$/.test(form.style)) problems.push('style')
  return problems
}

const nearest = (values: number[], wanted: number): number =>
  values.toSorted((left, right) => Math.abs(left - wanted) - Math.abs(right - wanted) || left - right)[0] ??
  wanted

const nearestSize = (sizes: Size[], { width, height }: VideoForm): Size | undefined => {
  const distance = (size: Size) =>
    (size.height > size.width === height > width ? 0 : 1e9) +
    Math.abs(size.width * size.height - width * height)
  return sizes.toSorted((left, right) => distance(left) - distance(right))[0]
}

/** The same form with values that the offer makes. Images stay, so that nothing is lost. */
export const fitForm = (form: VideoForm, offer: Offer): VideoForm => {
  const size = findSize(offer, form) ?? nearestSize(offer.sizes, form)
  const seconds =
    offer.seconds === undefined
      ? Math.max(offer.minSeconds, Math.min(offer.maxSeconds, form.seconds))
      : nearest(offer.seconds, form.seconds)
  return {
    ...{ ...form, model: offer.model.id, seconds },
    ...(size !== undefined && { width: size.width, height: size.height }),
  }
}

type Request =
  | { endpoint: '/v1/videos'; body: CreateVideoParams }
  | { endpoint: '/v1/video/create'; body: CreateVideoTaskParams }

/** The values of a request, in which `images` stand for the files. */
export const buildFields = <Image>(
  form: VideoForm,
  offer: Offer,
  images: Image[],
): Record<string, unknown> => {
  const { model, prompt, seconds, width, height } = form
  const size = findSize(offer, form)
  const hasRoles = offer.endpoint === taskPath && offer.roles.length > 1 && images.length > 0
  const roles = form.images.map(
    ({ role }, index) => role ?? offer.roles[Math.min(index, offer.roles.length - 1)],
  )
  const shared = {
    ...{ model, prompt },
    ...(offer.sound === 'optional' && !form.hasSound && { sound: false }),
    ...(!form.hasWatermark && !(offer.isFamilyA && offer.endpoint === taskPath) && { watermark: false }),
    ...(form.isPrivate && !offer.isFamilyA && { private: true }),
  }
  if (offer.endpoint === taskPath) {
    const isUpright = height > width
    return {
      ...shared,
      ...(images.length > 0 && { images }),
      ...(hasRoles && { image_roles: roles }),
      ...(offer.isFamilyA
        ? {
            ...(offer.model.aspect_ratios !== undefined && { aspect_ratio: isUpright ? '9:16' : '16:9' }),
            ...(isLarge({ name: '', width, height }) && { enable_upsample: true }),
            ...(form.enhances && { enhance_prompt: true }),
          }
        : {
            orientation: isUpright ? 'portrait' : 'landscape',
            size: isLarge({ name: '', width, height }) ? 'large' : 'small',
            duration: seconds,
          }),
    }
  }
  return {
    ...{ ...shared, seconds, size: size?.name ?? `${width}x${height}` },
    ...(images.length === 1 && { input_reference: images[0] }),
    ...(images.length > 1 && { input_reference: images }),
    ...(!offer.isFamilyA && form.style !== '' && { style: form.style }),
  }
}

const readDataUri = (file: Blob): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.addEventListener('load', () => {
      if (typeof reader.result === 'string') resolve(reader.result)
    })
    reader.addEventListener('error', () => reject(reader.error ?? new Error('The image cannot be read.')))
    reader.readAsDataURL(file)
  })

/** The request of the form. `/v1/video/create` takes images as data URIs. */
export const buildRequest = async (form: VideoForm, offer: Offer): Promise<Request> => {
  const { endpoint } = offer
  const images: unknown[] =
    endpoint === taskPath
      ? await Promise.all(form.images.map(({ file }) => readDataUri(file)))
      : form.images.map(({ file, name }) => new File([file], name, { type: file.type }))
  return { endpoint, body: buildFields(form, offer, images) } as unknown as Request
}
