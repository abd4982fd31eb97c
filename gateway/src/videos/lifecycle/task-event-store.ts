import type { TaskErrorCode } from '@kinora/contract/task-errors'

import type { Database } from '../../platform/postgres.ts'

/** One event of a task. */
export interface TaskEvent {
  /** Numbered per task, so that an id reveals nothing about other tasks. */
  id: number
  taskId: string
  kind: 'accepted' | 'processing' | 'progress' | 'completed' | 'failed'
  /** The last event carries the complete result. */
  data: { progress?: number; mediaId?: string; code?: TaskErrorCode; message?: string }
  createdAt: Date
}

export const findEvents = async (
  database: Database,
  wanted: { day: string; taskId: string; afterId: number }[],
): Promise<TaskEvent[]> => {
  const { rows } = await database.query<TaskEvent & Record<string, unknown>>(
    `select e.id, e.task_id as "taskId", e.kind, e.data, e.created_at as "createdAt"
       from unnest($1::date[], $2::text[], $3::bigint[]) as wanted (day, task_id, after_id)
       join task_events e on e.day = wanted.day and e.task_id = wanted.task_id and e.id > wanted.after_id
      order by e.id`,
    [wanted.map(({ day }) => day), wanted.map(({ taskId }) => taskId), wanted.map(({ afterId }) => afterId)],
  )
  return rows
}

export const findLastEvent = async (
  database: Database,
  day: string,
  taskId: string,
): Promise<Pick<TaskEvent, 'id' | 'kind'> | undefined> => {
  const { rows } = await database.query<Pick<TaskEvent, 'id' | 'kind'>>(
    'select id, kind from task_events where day = $1 and task_id = $2 order by id desc limit 1',
    [day, taskId],
  )
  return rows[0]
}
