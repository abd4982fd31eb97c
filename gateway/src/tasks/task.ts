/** What all kinds of tasks have in common. */

/** The tables of a kind of task. docs/add-a-task-kind.md lists the columns that the functions of this folder use. */
export interface TaskTables {
  /** All tasks, which readers read. */
  tasks: string
  /** Tasks that have not ended: the queue, and the work for the engine. */
  open: string
  /** The events of the tasks, if they have any. The tasks then also have `status_updated_at` and `last_event`. */
  events?: string
  /** The column of open tasks that names their queue, which is the key of its dispatcher. Without it there is one queue. */
  queue?: string
}

export type TaskState = 'pending' | 'processing' | 'completed' | 'failed'

export const isFinal = (state: TaskState): boolean => state === 'completed' || state === 'failed'
