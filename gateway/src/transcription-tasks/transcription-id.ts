/** Like every task's, the id of a transcription task carries its creation time and so leads to its partition. */
import { timeOfUuidV7, uuidV7 } from '../platform/uuid.ts'

const prefix = 'transcription_'
/** The second after one of this year is still one that the database can read. */
const yearMax = 9_998

export const createTranscriptionId = (atMs: number): string => `${prefix}${uuidV7(atMs)}`

/** When a task was made, read off its id; undefined for text that is no id of ours. */
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
