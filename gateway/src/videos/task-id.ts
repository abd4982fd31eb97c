/**
 * Task ids contain their creation time and their cell: an id leads to its partition without a lookup, and a malformed id is
 * refused without a query. Ids are not secrets.
 */
import { cellText, randomTextOfCell } from '../platform/ids/cell.ts'
import { timeOfUuidV7, uuidV7, uuidV7At } from '../platform/ids/uuid.ts'

const randomLength = 14

export const createUuidTaskId = (atMs: number): string => `video_${uuidV7(atMs)}`

export const createModelTaskId = (model: string, atMs: number): string =>
  `${model}:${Math.floor(atMs / 1000)}-${randomTextOfCell(randomLength)}`

export const createRemixTaskId = (model: string, atMs: number): string =>
  `${model}:remix-${Math.floor(atMs / 1000)}-${randomTextOfCell(randomLength)}`

/** The same id with another time. The rest, which makes it unique, stays. */
export const taskIdAt = (id: string, atMs: number): string =>
  id.startsWith('video_')
    ? `video_${uuidV7At(id.slice('video_'.length), atMs)}`
    : id.replace(/:(remix-)?\d{10}-/, (_, remix = '') => `:${remix}${Math.floor(atMs / 1000)}-`)

const modelShape = new RegExp(`^[A-Za-z0-9._-]{1,100}:(?:remix-)?(\\d{10})-${cellText}[0-9A-Za-z]{12}$`)

/** The database reads years up to 9999. One year less leaves room for queries that add to the time. */
const yearMax = 9_998

const millisecondsOf = (id: string): number | undefined => {
  if (id.startsWith('video_')) return timeOfUuidV7(id.slice('video_'.length))
  const match = modelShape.exec(id)
  return match ? Number(match[1]) * 1000 : undefined
}

/** The creation time in a task id, in whole seconds for ids with a model. Undefined for text that is not a task id. */
export const timeOfTaskId = (id: string): Date | undefined => {
  const atMs = millisecondsOf(id)
  if (atMs === undefined) return undefined
  const date = new Date(atMs)
  return date.getUTCFullYear() > yearMax ? undefined : date
}

/** The UTC day in a task id; undefined for text that is not a task id. */
export const dayOfTaskId = (id: string): string | undefined => timeOfTaskId(id)?.toISOString().slice(0, 10)
