/** Files that nothing on record leads to, such as what was on its way in when a process died. */
import type { Database } from '../platform/postgres.ts'
import type { MediaStore } from '../storage/media-store.ts'
import { dayOfTranscription } from '../transcription-tasks/transcription-id.ts'
import { knownKeys } from './expired-media-store.ts'

const folders = ['videos', 'variants', 'references', 'characters', 'recordings']
// A file is written before its row, and nothing takes longer than this in between.
const youngMs = 86_400_000
const keysPerLook = 500
const orphansMax = 10_000

export interface Orphans {
  keys: string[]
  /** Files that are on record. */
  known: number
}

const recordingOf = (key: string): { day: string; id: string }[] => {
  const id = key.startsWith('recordings/') ? (key.split('/').at(-1) ?? '') : ''
  const day = dayOfTranscription(id)
  return day === undefined ? [] : [{ day, id }]
}

export const findOrphans = async (
  { postgres, mediaStore }: { postgres: Database; mediaStore: MediaStore },
  signal: AbortSignal,
): Promise<Orphans> => {
  const found: Orphans = { keys: [], known: 0 }
  const look = async (keys: string[]) => {
    const known = await knownKeys(postgres, keys, keys.flatMap(recordingOf))
    found.known += known.size
    found.keys.push(...keys.filter((key) => !known.has(key)))
  }
  const isOld = (writtenAt: Date) => writtenAt.getTime() < Date.now() - youngMs
  for (const folder of folders) {
    let keys: string[] = []
    for await (const { key, writtenAt } of mediaStore.list(folder)) {
      if (signal.aborted || found.keys.length >= orphansMax) return found
      if (!isOld(writtenAt)) continue
      keys.push(key)
      if (keys.length < keysPerLook) continue
      await look(keys)
      keys = []
    }
    await look(keys)
  }
  return found
}

/** What was left on its way in. No row ever leads there. */
export const findSpooled = async (mediaStore: MediaStore): Promise<string[]> => {
  const keys: string[] = []
  for await (const { key, writtenAt } of mediaStore.list('spool')) {
    if (writtenAt.getTime() < Date.now() - youngMs) keys.push(key)
    if (keys.length >= orphansMax) break
  }
  return keys
}
