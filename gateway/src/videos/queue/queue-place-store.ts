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

/**
 * Counts the tasks of the same key in front of waiting tasks, up to `max`. The result omits tasks that do not wait. The first
 * tasks of a key are read once, however many of its tasks are wanted.
 */
export const findQueuePlaces = async (
  database: Database,
  taskIds: string[],
  max: number,
): Promise<Map<string, QueuePlace>> => {
  const { rows } = await database.query<QueuePlace & { taskId: string } & Record<string, unknown>>(
    `with wanted as materialized (
       select o.task_id, o.provider, o.account_id, o.key_id, o.model
         from unnest($1::text[]) as given (id)
         join open_tasks o on o.task_id = given.id and o.stage = 'accepted'
     ), head as materialized (
       select owner.*, first.*,
              row_number() over place as tasks, sum(first.seconds) over place as seconds_until,
              row_number() over place_of_model as tasks_of_model, sum(first.seconds) over place_of_model as seconds_of_model
         from (select distinct provider, account_id, key_id from wanted) owner
         cross join lateral (
           select a.task_id, a.model, a.seconds, a.accepted_at from open_tasks a
            where a.provider = owner.provider and a.stage = 'accepted'
              and a.account_id = owner.account_id and a.key_id = owner.key_id
            order by a.accepted_at, a.task_id limit $2
         ) first
       window place as (partition by provider, account_id, key_id order by accepted_at, task_id rows unbounded preceding),
              place_of_model as (partition by provider, account_id, key_id, model order by accepted_at, task_id
                                 rows unbounded preceding)
     ), counted as materialized (
       select provider, account_id, key_id, model, max(tasks_of_model) as tasks, max(seconds_of_model) as seconds
         from head group by provider, account_id, key_id, model
     )
     -- A task that is not among the first has all of them in front of it.
     select w.task_id as "taskId", w.provider,
            coalesce(own.tasks - 1, whole.tasks, 0) as tasks,
            coalesce(own.seconds_until - own.seconds, whole.seconds, 0) as seconds,
            coalesce(own.tasks_of_model - 1, whole.tasks_of_model, 0) as "tasksOfModel",
            coalesce(own.seconds_of_model - own.seconds, whole.seconds_of_model, 0) as "secondsOfModel"
       from wanted w
       left join head own on own.task_id = w.task_id
       left join lateral (
         select sum(c.tasks)::bigint as tasks, sum(c.seconds)::bigint as seconds,
                sum(c.tasks) filter (where c.model = w.model)::bigint as tasks_of_model,
                sum(c.seconds) filter (where c.model = w.model)::bigint as seconds_of_model
           from counted c
          where own.task_id is null and c.provider = w.provider and c.account_id = w.account_id and c.key_id = w.key_id
       ) whole on true`,
    [taskIds, max],
  )
  return new Map(rows.map((row) => [row.taskId, row]))
}
