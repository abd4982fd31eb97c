/**
 * Cheap reads of single tasks: concurrent reads share a query, and a task is cached for a fraction of a second, so clients
 * may poll at any rate.
 */
import { ApiError } from '@kinora/contract/errors'

import { batch, fulfilled } from '../../platform/batch.ts'
import type { Database } from '../../platform/postgres.ts'
import { dayOfTaskId } from '../task-id.ts'
import { findTasks, type TaskKey } from '../task-store.ts'
import type { VideoTask } from '../task.ts'

export interface ReadTask {
  (id: string, accountId: string, options?: { isFresh?: boolean }): Promise<VideoTask>
  /** Drops the cached task. */
  forget: (id: string, accountId: string) => void
}

const freshMs = 300
const rememberedMax = 20_000

/** `taskDays` is the default retention of tasks, for accounts without their own. */
export const createReadTask = (database: Database, taskDays: () => number): ReadTask => {
  const read = batch(
    async (wanted: TaskKey[]) => {
      const found = await findTasks(database, wanted, taskDays())
      return wanted.map(({ accountId, id }) => fulfilled(found.get(`${accountId}/${id}`)))
    },
    { inFlightMax: 2, sizeMax: 500 },
  )
  const recent = new Map<string, { task: VideoTask; untilMs: number }>()
  const readTask: ReadTask = async (id, accountId, { isFresh = false } = {}) => {
    const day = dayOfTaskId(id)
    if (day === undefined) throw new ApiError('task_not_found')
    const key = `${accountId}/${id}`
    const remembered = recent.get(key)
    if (!isFresh && remembered !== undefined && remembered.untilMs > performance.now()) return remembered.task
    const task = await read({ id, day, accountId })
    if (task === undefined) throw new ApiError('task_not_found')
    if (recent.size >= rememberedMax) recent.clear()
    recent.set(key, { task, untilMs: performance.now() + freshMs })
    return task
  }
  readTask.forget = (id, accountId) => {
    recent.delete(`${accountId}/${id}`)
  }
  return readTask
}
