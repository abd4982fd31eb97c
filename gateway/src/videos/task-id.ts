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

/** When a task was made, read off its id; undefined for text that is no id of ours. */
const timeOfTaskId = (id: string): number | undefined => {
  if (id.startsWith('video_')) return timeOfUuidV7(id.slice('video_'.length))
  const match = modelShape.exec(id)
  return match ? Number(match[1]) * 1000 : undefined
}

const yearMax = 9_999

/** The creation time as the record has it: ids of one shape carry whole seconds only, so all are cut to that. */
export const createdAtOfTaskId = (id: string): Date | undefined => {
  const atMs = dayOfTaskId(id) === undefined ? undefined : timeOfTaskId(id)
  return atMs === undefined ? undefined : new Date(Math.floor(atMs / 1000) * 1000)
}

/** The day (UTC) a task was created on, read off its id; undefined for text that is no id of ours. */
export const dayOfTaskId = (id: string): string | undefined => {
  const atMs = timeOfTaskId(id)
  if (atMs === undefined) return undefined
  const date = new Date(atMs)
  return date.getUTCFullYear() > yearMax ? undefined : date.toISOString().slice(0, 10)
}
