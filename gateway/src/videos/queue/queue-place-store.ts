import type { Database } from '../../platform/postgres.ts'

/** How many tasks of the same key wait in front of a task. */
export interface QueuePlace {
  provider: string
  tasks: number
  /** Seconds of video of these tasks. */
  seconds: number
  /** Those of the same model. */
  tasksOfModel: number
  secondsOfModel: number
}

/** Counts the tasks of the same key in front of waiting tasks, up to `max`. The result omits tasks that do not wait. */
export const findQueuePlaces = async (
  database: Database,
  taskIds: string[],
  max: number,
): Promise<Map<string, QueuePlace>> => {
  const { rows } = await database.query<QueuePlace & { taskId: string } & Record<string, unknown>>(
    `select o.task_id as "taskId", o.provider, ahead.*
       from unnest($1::text[]) as wanted (id)
       join open_tasks o on o.task_id = wanted.id and o.stage = 'accepted'
       cross join lateral (
         select count(*) as tasks, coalesce(sum(seconds), 0) as seconds,
                count(*) filter (where earlier.model = o.model) as "tasksOfModel",
                coalesce(sum(seconds) filter (where earlier.model = o.model), 0) as "secondsOfModel"
           from (select a.model, a.seconds from open_tasks a
                  where a.provider = o.provider and a.stage = 'accepted'
                    and a.account_id = o.account_id and a.key_id = o.key_id
                    and (a.accepted_at, a.task_id) < (o.accepted_at, o.task_id)
                  order by a.accepted_at, a.task_id limit $2) earlier
       ) ahead`,
    [taskIds, max],
  )
  return new Map(rows.map((row) => [row.taskId, row]))
}
