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

export interface ChangedTasks {
  taskIds: string[]
  /** Where to continue. */
  position: string
}

/**
 * The tasks that have events from a position on; without one, only where to continue. An event that commits later has that
 * position or a greater one. Those of the last transactions may be found twice.
 */
export const findChangedTasks = async (
  database: Database,
  since: string | undefined,
): Promise<ChangedTasks> => {
  const { rows } = await database.query<ChangedTasks & Record<string, unknown>>(
    `select coalesce((select array_agg(distinct e.task_id) from task_events e where e.position >= $1::bigint), '{}') as "taskIds",
            event_position(pg_snapshot_xmin(pg_current_snapshot()))::text as "position"`,
    [since ?? null],
  )
  const [changes] = rows
  if (changes === undefined) throw new Error('PostgreSQL returned no snapshot.')
  return changes
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
