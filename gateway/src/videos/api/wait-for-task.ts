/** Long polling: waits until a task has ended or changed, by watching its events. */
import { isFinal } from '../../tasks/task.ts'
import { isLast, refusalIn, type WatchTask } from '../lifecycle/follow-task.ts'
import type { TaskEvent } from '../lifecycle/task-event-store.ts'
import type { VideoTask } from '../task.ts'
import type { ReadTask } from './read-task.ts'

/** `final`: until the task is completed or failed · `change`: until its status or progress differs from the given one. */
export type WaitUntil = 'final' | 'change'

/** Returns the task after the wait, which also ends when the time is up or the signal aborts. */
export type WaitForTask = (
  task: VideoTask,
  until: WaitUntil,
  waitMs: number,
  signal: AbortSignal,
) => Promise<VideoTask>

/** Whether the event changes the task compared to this state. */
export const isChangeSince = (
  { state, progress }: Pick<VideoTask, 'state' | 'progress'>,
  { kind, data }: Pick<TaskEvent, 'kind' | 'data'>,
): boolean => {
  switch (kind) {
    case 'accepted':
      return false
    case 'processing':
      return state === 'pending'
    case 'progress':
      return (data.progress ?? 0) > progress
    case 'completed':
    case 'failed':
      return true
  }
}

/** Resolves at an event that ends the wait, when the time is up, or when the signal is aborted. */
const untilEvent = (
  watch: WatchTask,
  task: VideoTask,
  isEnough: (event: TaskEvent) => boolean,
  waitMs: number,
  signal: AbortSignal,
): Promise<void> =>
  new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      stop()
      resolve()
    }
    const timer = setTimeout(end, waitMs)
    // Events are read later than this, so that none comes before `stop` is set.
    const stop = watch(task, task.lastEvent ?? 0, (event) => {
      if (isEnough(event)) end()
    })
    signal.addEventListener('abort', end)
    if (signal.aborted) end()
  })

export const createWaitForTask =
  (readTask: ReadTask, watch: WatchTask): WaitForTask =>
  async (task, until, waitMs, signal) => {
    if (isFinal(task.state) || waitMs <= 0) return task
    const isEnough = (event: TaskEvent) => isLast(event) || (until === 'change' && isChangeSince(task, event))
    await untilEvent(watch, task, isEnough, waitMs, signal)
    const refusal = refusalIn(signal)
    if (refusal !== undefined) throw refusal
    return readTask(task.id, task.accountId, { isFresh: true })
  }
