import { jsonWithTexts } from '../kit/http/json-with-texts.ts'
import { jsonBody, multipart, type StreamedBody } from '../kit/http/multipart.ts'
import { dataUriOf } from '../kit/video/image-text.ts'
import { referencePart } from '../kit/video/reference-part.ts'
/** A job in the words of our own API. */
import { aspectRatioOf } from '../kit/video/size-terms.ts'
import { ProviderFailure } from '../port/failure.ts'
import type { VideoJob } from '../port/video.ts'
import type { Endpoints } from './kinora-endpoints.ts'

interface Order {
  path: string
  body: StreamedBody
  /** True where the video is to be made larger after it was made. */
  upsamples: boolean
}

const createSeconds = [10, 15, 25]
const createFrames = ['1280x720', '720x1280', '1920x1080', '1080x1920']
const remixSizes = ['720x1280', '1280x720', '480x480', '1080x1080']

const sizeOf = ({ width, height }: VideoJob) => `${width}x${height}`
const isLarge = ({ width, height }: VideoJob) => Math.min(width, height) > 720

/** The order for a job, through the door that can say all of it. */
export function orderOf(job: VideoJob, endpoints: Endpoints): Order {
  return endpoints.create && (!endpoints.videos || fitsCreate(job))
    ? createOrder(job)
    : videosOrder(job, endpoints)
}

/** Models that both doors take have there only some lengths and frames, no style, and at least one picture. */
function fitsCreate(job: VideoJob): boolean {
  const isFrame = createFrames.includes(sizeOf(job))
  return (
    isFrame && createSeconds.includes(job.seconds) && job.references.length > 0 && job.style === undefined
  )
}

/** Both parameter sets at once: each model takes its own, and passes over the rest. */
function createOrder(job: VideoJob): Order {
  const upsamples = isLarge(job)
  const body = jsonWithTexts((insert) => ({
    model: job.model,
    prompt: job.prompt,
    ...(job.references.length > 0 && {
      images: job.references.map((image) => insert(dataUriOf(image))),
    }),
    aspect_ratio: aspectRatioOf(job),
    enable_upsample: upsamples,
    // Whoever wanted that has had it from us.
    enhance_prompt: false,
    orientation: job.height > job.width ? 'portrait' : 'landscape',
    size: upsamples ? 'large' : 'small',
    duration: job.seconds,
    watermark: job.watermark,
    private: job.isPrivate,
  }))
  return { path: '/v1/video/create', body, upsamples }
}

function videosOrder(job: VideoJob, endpoints: Endpoints): Order {
  if (job.references.length > 1) {
    throw new ProviderFailure('rejected', 'this model takes one picture there', { code: 'upstream_error' })
  }
  // Models that only this door takes have another word for a landscape.
  const size = !endpoints.create && aspectRatioOf(job) === '16:9' ? '16x9' : sizeOf(job)
  const fields = [
    { name: 'model', value: job.model },
    { name: 'prompt', value: job.prompt },
    { name: 'seconds', value: String(job.seconds) },
    { name: 'size', value: size },
    { name: 'watermark', value: String(job.watermark) },
    { name: 'private', value: String(job.isPrivate) },
    ...(job.style === undefined ? [] : [{ name: 'style', value: job.style }]),
  ]
  const files = job.references.map((image, index) => referencePart('input_reference', image, index))
  return { path: '/v1/videos', body: multipart([...fields, ...files]), upsamples: false }
}

/** A remix has everything but its prompt from its source, and may have another size. */
export function remixOrder(job: VideoJob, sourceId: string): Order {
  const size = remixSizes.find((known) => known === sizeOf(job))
  const body = jsonBody({ prompt: job.prompt, ...(size !== undefined && { size }) })
  return { path: `/v1/videos/${encodeURIComponent(sourceId)}/remix`, body, upsamples: false }
}
