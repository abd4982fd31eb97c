/** Maps a job to the input of a model, for vendors whose models have different inputs. Operators configure the mapping. */
import { Type, type TSchemaOptions } from 'typebox'

import { ProviderFailure } from '../../port/failure.ts'
import type { ReferenceFile, VideoJob } from '../../port/video.ts'
import type { InsertedText } from '../http/json-with-texts.ts'
import { inOrder } from './image-order.ts'
import { dataUriOf } from './image-text.ts'
import { aspectRatioOf } from './size-terms.ts'

/** Inserts a streamed text into the JSON and returns its placeholder. */
type Insert = (text: InsertedText) => string

const heights = [360, 480, 540, 720, 1080, 1440, 2160]

/** The possible values of an input field. Undefined values are left out. */
const fillings = {
  prompt: ({ prompt }: VideoJob) => prompt,
  seconds: ({ seconds }: VideoJob) => String(seconds),
  'seconds-number': ({ seconds }: VideoJob) => seconds,
  'seconds-unit': ({ seconds }: VideoJob) => `${seconds}s`,
  'aspect-ratio': aspectRatioOf,
  resolution: ({ width, height }: VideoJob) => `${nearest(heights, Math.min(width, height))}p`,
  size: ({ width, height }: VideoJob) => `${width}x${height}`,
  'size-object': ({ width, height }: VideoJob) => ({ width, height }),
  width: ({ width }: VideoJob) => width,
  height: ({ height }: VideoJob) => height,
  style: ({ style }: VideoJob) => style,
  sound: ({ sound }: VideoJob) => sound,
  video: ({ referenceVideo }: VideoJob, insert: Insert) => inserted(referenceVideo, insert),
  audio: ({ referenceAudio }: VideoJob, insert: Insert) => inserted(referenceAudio, insert),
  image: ({ references }: VideoJob, insert: Insert) => inserted(inOrder(references)[0], insert),
  'last-image': ({ references }: VideoJob, insert: Insert) => inserted(inOrder(references)[1], insert),
  images: ({ references }: VideoJob, insert: Insert) =>
    references.length === 0 ? undefined : inOrder(references).map((image) => insert(dataUriOf(image))),
} satisfies Record<string, (job: VideoJob, insert: Insert) => unknown>

type Filling = keyof typeof fillings

/** How many images a field accepts. */
const imageCapacity: Partial<Record<Filling, number>> = { image: 1, 'last-image': 1, images: Infinity }

export const fillingNames = Object.keys(fillings) as Filling[]

/** Field names of a model's input, and the value of each. */
export type ModelInput = Record<string, Filling>

export const modelInput = (options: TSchemaOptions = {}) =>
  Type.Record(Type.String(), Type.Enum(fillingNames), options)

/** Whether the input has a field for this value. */
export const takes = (input: ModelInput, value: 'sound' | 'video' | 'audio'): boolean =>
  Object.values(input).includes(value)

/** Builds the input of a model. Images without a field are an error and never dropped. */
export function inputOf(job: VideoJob, input: ModelInput, insert: Insert): Record<string, unknown> {
  const imagesMax = Object.values(input).reduce((sum, filling) => sum + (imageCapacity[filling] ?? 0), 0)
  if (job.references.length > imagesMax) {
    const message = `this model accepts ${imagesMax} images, got ${job.references.length}`
    throw new ProviderFailure('rejected', message, { code: 'invalid_image' })
  }
  const fields = Object.entries(input).map(([name, filling]) => [name, fillings[filling](job, insert)])
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined))
}

function inserted(image: ReferenceFile | undefined, insert: Insert): string | undefined {
  return image === undefined ? undefined : insert(dataUriOf(image))
}

function nearest(numbers: number[], to: number): number {
  return numbers.reduce((best, each) => (Math.abs(each - to) < Math.abs(best - to) ? each : best))
}
