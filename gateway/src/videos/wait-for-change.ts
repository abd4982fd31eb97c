/** Holds a read until its task has changed. What a reader has seen is told from the events that came since. */
import type { FollowTask } from './follow-task.ts'
import type { ReadTask } from './read-task.ts'
import type { TaskEvent } from './task-event-store.ts'
import { isFinal, type VideoTask } from './task.ts'

/** Answers the task once it is no longer as given, or as it stands when the time is up or the signal aborts. */
export type WaitForChange = (task: VideoTask, waitMs: number, signal: AbortSignal) => Promise<VideoTask>

/** Whether this event is news to somebody who has seen the task like this. */
export const isNewsTo = (
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

export const createWaitForChange =
  (readTask: ReadTask, follow: FollowTask): WaitForChange =>
  async (task, waitMs, signal) => {
    if (isFinal(task.state) || waitMs <= 0) return task
    const enough = AbortSignal.any([signal, AbortSignal.timeout(waitMs)])
    for await (const event of follow(task, 0, enough)) if (isNewsTo(task, event)) break
    return readTask(task.id, task.accountId, { isFresh: true })
  }
