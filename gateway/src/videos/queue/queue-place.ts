/**
 * Cheap reads of the places of waiting tasks: concurrent reads share a statement, and a place is cached for a second. Counting
 * stops at a limit; a place behind it changes slowly, so it is cached longer.
 */
import { batch, fulfilled } from '../../platform/batch.ts'
import type { Database } from '../../platform/postgres.ts'
import { findQueuePlaces, type QueuePlace } from './queue-place-store.ts'

export interface ReadQueuePlace {
  /** Undefined if the task does not wait. */
  (taskId: string): Promise<QueuePlace | undefined>
  /** Drops the cached places, because a task has left a queue. */
  forget: () => void
}

export const countedMax = 200
const freshMs = 1_000
const freshMsOfLast = 10_000
const rememberedMax = 20_000

export const createReadQueuePlace = (database: Database): ReadQueuePlace => {
  const read = batch(
    async (taskIds: string[]) => {
      const found = await findQueuePlaces(database, [...new Set(taskIds)], countedMax)
      return taskIds.map((taskId) => fulfilled(found.get(taskId)))
    },
    { name: 'queue_place', inFlightMax: 1, sizeMax: 500 },
  )
  const recent = new Map<string, { place: QueuePlace | undefined; untilMs: number }>()
  const readPlace = async (taskId: string) => {
    const remembered = recent.get(taskId)
    if (remembered !== undefined && remembered.untilMs > performance.now()) return remembered.place
    const place = await read(taskId)
    if (recent.size >= rememberedMax) recent.clear()
    const cachedMs = place !== undefined && place.tasks >= countedMax ? freshMsOfLast : freshMs
    recent.set(taskId, { place, untilMs: performance.now() + cachedMs })
    return place
  }
  return Object.assign(readPlace, { forget: () => recent.clear() })
}
