/**
 * Cheap reads of single tasks: concurrent reads share a query, and a task is cached until it changes, for a second at most, so
 * clients may poll at any rate. A read never returns an older state than an earlier one of the same process did.
 */
import { batch, fulfilled } from '../../platform/batch.ts'
import type { Database } from '../../platform/postgres.ts'
import { taskNotFound } from '../../tasks/task.ts'
import { dayOfTaskId } from '../task-id.ts'
import { findTasks, type TaskKey } from '../task-store.ts'
import type { VideoTask } from '../task.ts'

interface ReadOptions {
  /** Reads the database in any case. */
  isFresh?: boolean
  /** Whether a cached task is good enough; without it, any is. */
  accepts?: (cached: VideoTask) => boolean
}

export interface ReadTask {
  (id: string, accountId: string, options?: ReadOptions): Promise<VideoTask>
  /** Drops cached tasks because they have changed; all of them if none is named. */
  forget: (ids: string[]) => void
}

const freshMs = 1_000
const cachedMax = 20_000

interface Cached {
  task: VideoTask
  untilMs: number
}

interface Reading {
  accountId: string
  result: Promise<VideoTask>
  /** False if its result may be out of date when it arrives. It is then neither cached nor shared. */
  isCurrent: boolean
}

/** `taskDays` is the default retention of tasks, for accounts without their own. */
export const createReadTask = (database: Database, taskDays: () => number): ReadTask => {
  const read = batch(
    async (wanted: TaskKey[]) => {
      const found = await findTasks(database, wanted, taskDays())
      return wanted.map(({ accountId, id }) => fulfilled(found.get(`${accountId}/${id}`)))
    },
    { name: 'read_task', inFlightMax: 2, sizeMax: 500 },
  )
  const cache = new Map<string, Cached>()
  /** The newest read of each task that is under way. */
  const reads = new Map<string, Reading>()

  const startReading = (key: TaskKey): Promise<VideoTask> => {
    const { id } = key
    // The result of an earlier read may be older.
    const earlier = reads.get(id)
    if (earlier !== undefined) earlier.isCurrent = false
    const result = read(key).then((task) => {
      if (task === undefined) throw taskNotFound(id)
      if (reading.isCurrent) {
        if (cache.size >= cachedMax) cache.clear()
        cache.set(id, { task, untilMs: performance.now() + freshMs })
      }
      return task
    })
    const reading: Reading = { accountId: key.accountId, result, isCurrent: true }
    reads.set(id, reading)
    const end = () => {
      if (reads.get(id) === reading) reads.delete(id)
    }
    result.then(end, end)
    return result
  }

  const readTask: ReadTask = async (id, accountId, { isFresh = false, accepts } = {}) => {
    const day = dayOfTaskId(id)
    if (day === undefined) throw taskNotFound(id)
    if (!isFresh) {
      const cached = cache.get(id)
      const isCached = cached?.task.accountId === accountId && cached.untilMs > performance.now()
      if (isCached && accepts?.(cached.task) !== false) return cached.task
      const reading = reads.get(id)
      // What a read under way will return cannot be judged yet.
      if (accepts === undefined && reading?.accountId === accountId && reading.isCurrent)
        return reading.result
    }
    return startReading({ id, day, accountId })
  }
  readTask.forget = (ids) => {
    if (ids.length === 0) cache.clear()
    for (const id of ids) cache.delete(id)
    // A read that is under way may have seen the task before the change.
    const changed = ids.length === 0 ? reads.values() : ids.flatMap((id) => reads.get(id) ?? [])
    for (const reading of changed) reading.isCurrent = false
  }
  return readTask
}
