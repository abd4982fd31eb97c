/**
 * Ids carry their creation time, so an id leads to its partition without a look-up, and one that was
 * never ours is refused without touching the database. They are names, not secrets.
 */
import { randomText } from '../platform/random-text.ts'
import { timeOfUuidV7, uuidV7 } from '../platform/uuid.ts'

// Two characters are kept for the cell a task lives in; there is one cell so far.
const cell = '00'

export const createUuidTaskId = (atMs: number): string => `video_${uuidV7(atMs)}`

export const createModelTaskId = (model: string, atMs: number): string =>
  `${model}:${Math.floor(atMs / 1000)}-${cell}${randomText(12)}`

export const createRemixTaskId = (model: string, atMs: number): string =>
  `${model}:remix-${Math.floor(atMs / 1000)}-${cell}${randomText(12)}`

const modelShape = /^[A-Za-z0-9._-]{1,64}:(?:remix-)?(\d{10})-[0-9A-Za-z]{10,32}$/

/** The second after one of this year is still one that the database can read. */
const yearMax = 9_998

const millisecondsOf = (id: string): number | undefined => {
  if (id.startsWith('video_')) return timeOfUuidV7(id.slice('video_'.length))
  const match = modelShape.exec(id)
  return match ? Number(match[1]) * 1000 : undefined
}

/** When a task was made, read off its id; one shape has whole seconds only. Undefined for text that is no id of ours. */
export const timeOfTaskId = (id: string): Date | undefined => {
  const atMs = millisecondsOf(id)
  if (atMs === undefined) return undefined
  const date = new Date(atMs)
  return date.getUTCFullYear() > yearMax ? undefined : date
}

/** The day (UTC) a task was created on, read off its id; undefined for text that is no id of ours. */
export const dayOfTaskId = (id: string): string | undefined => timeOfTaskId(id)?.toISOString().slice(0, 10)
