/** Holds a read until its task has ended or changed. What a reader has seen is told from the events that came since. */
import type { FollowTask } from '../lifecycle/follow-task.ts'
import type { TaskEvent } from '../lifecycle/task-event-store.ts'
import { isFinal, type VideoTask } from '../task.ts'
import type { ReadTask } from './read-task.ts'

/** `final`: until it is completed or failed · `change`: until its status or progress is no longer as given. */
export type WaitUntil = 'final' | 'change'

/** Answers the task after that, or as it stands when the time is up or the signal aborts. */
export type WaitForTask = (
  task: VideoTask,
  until: WaitUntil,
  waitMs: number,
  signal: AbortSignal,
) => Promise<VideoTask>

/** Whether this event is news to somebody who has seen the task like this. */
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
    // The events end by themselves with the task.
    for await (const event of follow(task, 0, enough))
      if (until === 'change' && isChangeSince(task, event)) break
    return readTask(task.id, task.accountId, { isFresh: true })
  }
