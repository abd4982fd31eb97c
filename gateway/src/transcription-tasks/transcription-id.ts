/** Ids of transcription tasks. They contain the creation time, which determines the partition. */
import { timeOfUuidV7, uuidV7, uuidV7At } from '../platform/ids/uuid.ts'

const prefix = 'transcription_'
/** Adding a second must not exceed the four-digit years that PostgreSQL can parse. */
const yearMax = 9_998

export const createTranscriptionId = (atMs: number): string => `${prefix}${uuidV7(atMs)}`

/** The same id with another time. */
export const transcriptionIdAt = (id: string, atMs: number): string =>
  `${prefix}${uuidV7At(id.slice(prefix.length), atMs)}`

/** The creation time in an id; undefined for text that is not such an id. */
export const createdAtOfTranscription = (id: string): Date | undefined => {
  if (!id.startsWith(prefix)) return undefined
  const atMs = timeOfUuidV7(id.slice(prefix.length))
  if (atMs === undefined) return undefined
  const createdAt = new Date(atMs)
  return createdAt.getUTCFullYear() > yearMax ? undefined : createdAt
}

/** The day (UTC) a task was created on. */
export const dayOfTranscription = (id: string): string | undefined =>
  createdAtOfTranscription(id)?.toISOString().slice(0, 10)
