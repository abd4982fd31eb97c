/** Builds requests to the Kinora API. */
import { jsonWithTexts } from '../kit/http/json-with-texts.ts'
import { jsonBody, multipart, type StreamedBody } from '../kit/http/multipart.ts'
import { inOrder } from '../kit/video/image-order.ts'
import { dataUriOf } from '../kit/video/image-text.ts'
import { clipParts, referencePart } from '../kit/video/reference-part.ts'
import { aspectRatioOf } from '../kit/video/size-terms.ts'
import { ProviderFailure } from '../port/failure.ts'
import type { VideoJob } from '../port/video.ts'
import type { Endpoints } from './kinora-endpoints.ts'

interface Order {
  path: string
  body: StreamedBody
  /** Whether the video is upscaled after it is made. */
  upsamples: boolean
}

const createSeconds = [10, 15, 25]
const createFrames = ['1280x720', '720x1280', '1920x1080', '1080x1920']
const remixSizes = ['720x1280', '1280x720', '480x480', '1080x1080']

const sizeOf = ({ width, height }: VideoJob) => `${width}x${height}`
const isLarge = ({ width, height }: VideoJob) => Math.min(width, height) > 720

/** Chooses the endpoint that can express the whole job. */
export function orderOf(job: VideoJob, endpoints: Endpoints): Order {
  const hasClips = job.referenceVideo !== undefined || job.referenceAudio !== undefined
  if (hasClips && !endpoints.videos) {
    throw new ProviderFailure('rejected', 'this model accepts no files on its endpoint', {
      code: 'upstream_error',
    })
  }
  return endpoints.create && !hasClips && (!endpoints.videos || fitsCreate(job))
    ? createOrder(job)
    : videosOrder(job, endpoints)
}

/** For models with both endpoints, create supports only some lengths and sizes, no style, and needs an image. */
function fitsCreate(job: VideoJob): boolean {
  const isFrame = createFrames.includes(sizeOf(job))
  return (
    isFrame && createSeconds.includes(job.seconds) && job.references.length > 0 && job.style === undefined
  )
}

/** Sends both parameter sets: each model reads its own and ignores the rest. */
function createOrder(job: VideoJob): Order {
  const upsamples = isLarge(job)
  const body = jsonWithTexts((insert) => ({
    model: job.model,
    prompt: job.prompt,
    ...(job.references.length > 0 && {
      images: inOrder(job.references).map((image) => insert(dataUriOf(image))),
    }),
    aspect_ratio: aspectRatioOf(job),
    enable_upsample: upsamples,
    // This gateway has already enhanced the prompt if requested.
    enhance_prompt: false,
    orientation: job.height > job.width ? 'portrait' : 'landscape',
    size: upsamples ? 'large' : 'small',
    duration: job.seconds,
    watermark: job.watermark,
    private: job.isPrivate,
    sound: job.sound,
  }))
  return { path: '/v1/video/create', body, upsamples }
}

function videosOrder(job: VideoJob, endpoints: Endpoints): Order {
  if (job.references.length > 1) {
    throw new ProviderFailure('rejected', 'this model accepts one image on that endpoint', {
      code: 'upstream_error',
    })
  }
  // Models with only this endpoint have another name for landscape.
  const size = !endpoints.create && aspectRatioOf(job) === '16:9' ? '16x9' : sizeOf(job)
  const fields = [
    { name: 'model', value: job.model },
    { name: 'prompt', value: job.prompt },
    { name: 'seconds', value: String(job.seconds) },
    { name: 'size', value: size },
    { name: 'watermark', value: String(job.watermark) },
    { name: 'private', value: String(job.isPrivate) },
    ...(job.style === undefined ? [] : [{ name: 'style', value: job.style }]),
    ...(job.sound === undefined ? [] : [{ name: 'sound', value: String(job.sound) }]),
  ]
  const files = [
    ...job.references.map((image, index) => referencePart('input_reference', image, index)),
    ...clipParts(job, { video: 'reference_video', audio: 'reference_audio' }),
  ]
  return { path: '/v1/videos', body: multipart([...fields, ...files]), upsamples: false }
}

/** A remix takes everything but the prompt from its source, and may have another size. */
export function remixOrder(job: VideoJob, sourceId: string): Order {
  const size = remixSizes.find((known) => known === sizeOf(job))
  const body = jsonBody({ prompt: job.prompt, ...(size !== undefined && { size }) })
  return { path: `/v1/videos/${encodeURIComponent(sourceId)}/remix`, body, upsamples: false }
}
