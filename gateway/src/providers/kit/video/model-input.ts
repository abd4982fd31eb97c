/** What a model is told of a job where every model has an input of its own making: operators say which field has what. */
import { Type, type TSchemaOptions } from 'typebox'

import { ProviderFailure } from '../../port/failure.ts'
import type { ReferenceImage, VideoJob } from '../../port/video.ts'
import type { InsertedText } from '../http/json-with-texts.ts'
import { dataUriOf } from './image-text.ts'
import { aspectRatioOf } from './size-terms.ts'

/** Where each picture of a job goes, and which text stands for it in the JSON. */
type Insert = (text: InsertedText) => string

const heights = [360, 480, 540, 720, 1080, 1440, 2160]

/** What a field of a model's input can be filled with. A value that is not there is left out. */
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
  image: ({ references }: VideoJob, insert: Insert) => inserted(references[0], insert),
  'last-image': ({ references }: VideoJob, insert: Insert) => inserted(references[1], insert),
  images: ({ references }: VideoJob, insert: Insert) =>
    references.length === 0 ? undefined : references.map((image) => insert(dataUriOf(image))),
} satisfies Record<string, (job: VideoJob, insert: Insert) => unknown>

type Filling = keyof typeof fillings

/** How many pictures a field takes. */
const room: Partial<Record<Filling, number>> = { image: 1, 'last-image': 1, images: Infinity }

export const fillingNames = Object.keys(fillings) as Filling[]

/** Names of fields in a model's input, and what each is filled with. */
export type ModelInput = Record<string, Filling>

export const modelInput = (options: TSchemaOptions = {}) =>
  Type.Record(Type.String(), Type.Enum(fillingNames), options)

/** A job as the model wants to be told of it. Pictures that have no place there are an error, not left out. */
export function inputOf(job: VideoJob, input: ModelInput, insert: Insert): Record<string, unknown> {
  const placesMax = Object.values(input).reduce((sum, filling) => sum + (room[filling] ?? 0), 0)
  if (job.references.length > placesMax) {
    const message = `this model takes ${placesMax} pictures and was given ${job.references.length}`
    throw new ProviderFailure('rejected', message, { code: 'invalid_image' })
  }
  const fields = Object.entries(input).map(([name, filling]) => [name, fillings[filling](job, insert)])
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined))
}

function inserted(image: ReferenceImage | undefined, insert: Insert): string | undefined {
  return image === undefined ? undefined : insert(dataUriOf(image))
}

function nearest(numbers: number[], to: number): number {
  return numbers.reduce((best, each) => (Math.abs(each - to) < Math.abs(best - to) ? each : best))
}
