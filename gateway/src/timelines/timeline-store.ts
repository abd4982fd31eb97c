/** What the timeline of a task shows besides the task, its attempts and its money. */
import type { Database } from '../platform/postgres.ts'

export interface TimelineTask {
  id: string
  day: string
  accountId: string
  createdAt: Date
}

/** One attempt of a webhook delivery, or a delivery that has none yet. */
export interface DeliveryStep {
  id: string
  type: string
  state: 'pending' | 'delivered' | 'failed' | 'replaced'
  occurredAt: Date
  nextAttemptAt: Date
  /** Null before the first attempt, like everything below. */
  attempt: number | null
  startedAt: Date | null
  durationMs: number | null
  status: number | null
  error: string | null
}

/**
 * The deliveries of a task's events with their attempts. A delivery has the day and the time of its event, because both are
 * written in one transaction, so each is found by an index.
 */
export const findDeliveries = async (
  database: Database,
  { id, day, accountId }: TimelineTask,
  limit: number,
): Promise<DeliveryStep[]> => {
  const { rows } = await database.query<DeliveryStep & Record<string, unknown>>(
    `select d.id, d.type, d.state, d.occurred_at as "occurredAt", d.next_attempt_at as "nextAttemptAt",
            a.attempt, a.started_at as "startedAt", a.duration_ms as "durationMs", a.status, a.error
       from task_events e
       join webhook_deliveries d on d.day = (e.created_at at time zone 'utc')::date and d.account_id = $3
        and d.occurred_at = e.created_at and d.object_id = e.task_id
       left join webhook_attempts a on a.day = d.day and a.delivery_id = d.id
      where e.day = $1 and e.task_id = $2 and d.state <> 'replaced'
      order by d.occurred_at desc, d.id desc, a.attempt desc limit $4`,
    [day, id, accountId, limit],
  )
  return rows.toReversed()
}

/** The request that created a task; undefined if the request log does not have it. */
export const findCreatingRequest = async (
  database: Database,
  { id, createdAt }: Pick<TimelineTask, 'id' | 'createdAt'>,
  /** The operations that create tasks. */
  operations: string[],
): Promise<{ id: string; accountId: string | null } | undefined> => {
  // A request is logged when it ends. One that waits for the video may take long, but its task is as old as it is.
  const { rows } = await database.query<{ id: string; accountId: string | null }>(
    `select id, account_id as "accountId" from request_log
      where task_id = $1 and operation = any($3::text[]) and status < 400
        and day between ($2::timestamptz at time zone 'utc')::date - 1 and ($2::timestamptz at time zone 'utc')::date + 2
      order by at limit 1`,
    [id, createdAt, operations],
  )
  return rows[0]
}

export interface SourceTask {
  prompt: string
  state: string
}

const isRetained = `t.created_at > (select now() - make_interval(days => coalesce(a.task_retention_days, $3::integer))
                                      from accounts a where a.id = $2)`

/** The source of a remix; undefined if it was deleted. `taskDays` is the default retention. */
export const findSource = async (
  database: Database,
  { id, day, accountId }: Omit<TimelineTask, 'createdAt'>,
  taskDays: number,
  promptCharacters: number,
): Promise<SourceTask | undefined> => {
  const { rows } = await database.query<SourceTask & Record<string, unknown>>(
    `select left(coalesce(t.video_order ->> 'prompt', ''), $5) as prompt, t.state
       from video_tasks t where t.day = $1 and t.id = $4 and t.account_id = $2 and ${isRetained}`,
    [day, accountId, taskDays, id, promptCharacters],
  )
  return rows[0]
}

export interface RemixTask {
  id: string
  createdAt: Date
  state: string
}

/** The newest remixes of a video. They are younger than it, which limits the search to some partitions. */
export const findRemixes = async (
  database: Database,
  { id, day, accountId }: Omit<TimelineTask, 'createdAt'>,
  taskDays: number,
  limit: number,
): Promise<RemixTask[]> => {
  const { rows } = await database.query<RemixTask & Record<string, unknown>>(
    `select t.id, t.created_at as "createdAt", t.state from video_tasks t
      where t.video_order ? 'remixOf' and t.video_order -> 'remixOf' ->> 'taskId' = $4 and t.account_id = $2
        and t.day >= $1 and ${isRetained}
      order by t.created_at desc, t.id desc limit $5`,
    [day, accountId, taskDays, id, limit],
  )
  return rows
}
