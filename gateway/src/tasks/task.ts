/** What all kinds of tasks have in common. */
import { ApiError } from '@kinora/contract/errors'

/** The tables of a kind of task. docs/add-a-task-kind.md lists the columns that the functions of this folder use. */
export interface TaskTables {
  /** All tasks, which readers read. */
  tasks: string
  /** Tasks that have not ended: the queue, and the work for the engine. */
  open: string
  /**
   * The name of the object in the types of its events, if it has events. The tasks then also have `status_updated_at`,
   * `last_event` and `webhook`.
   */
  events?: string
  /** The column of open tasks that names their queue, which is the key of its dispatcher. Without it there is one queue. */
  queue?: string
}

/** The webhook that a create named. */
export interface TaskWebhook {
  endpoint: string
  url: string
  /** Types of events. */
  events: string[]
}

export type TaskState = 'pending' | 'processing' | 'completed' | 'failed'

export const isFinal = (state: TaskState): boolean => state === 'completed' || state === 'failed'

/** An unknown task and a task of another account give the same error. */
export const taskNotFound = (id: string): ApiError =>
  new ApiError('task_not_found', {
    message: `There is no task '${id.slice(0, 60)}' in the account of this key.`,
  })
