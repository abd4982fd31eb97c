/** Long polling: waits until a task has ended or changed, by following its events. */
import { isFinal } from '../../tasks/task.ts'
import { refusalIn, type FollowTask } from '../lifecycle/follow-task.ts'
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

export const createWaitForTask =
  (readTask: ReadTask, follow: FollowTask): WaitForTask =>
  async (task, until, waitMs, signal) => {
    if (isFinal(task.state) || waitMs <= 0) return task
    const enough = AbortSignal.any([signal, AbortSignal.timeout(waitMs)])
    // The stream of events ends with the task.
    for await (const event of follow(task, 0, enough))
      if (until === 'change' && isChangeSince(task, event)) break
    const refusal = refusalIn(signal)
    if (refusal !== undefined) throw refusal
    return readTask(task.id, task.accountId, { isFresh: true })
  }
