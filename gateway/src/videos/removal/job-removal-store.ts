/** Jobs of deleted tasks, until their provider has deleted them. */
import type { Database } from '../../platform/postgres.ts'

export interface JobRemoval {
  id: number
  provider: string
  upstream: unknown
  taskId: string
}

/** A job whose task is deleted or has ended. */
export interface UnwantedJob extends Omit<JobRemoval, 'id'> {
  accountId: string
}

export const requestJobRemovals = async (database: Database, jobs: UnwantedJob[]): Promise<JobRemoval[]> => {
  if (jobs.length === 0) return []
  const { rows } = await database.query<JobRemoval & Record<string, unknown>>(
    `insert into job_removals (provider, upstream, task_id, account_id)
     select provider, upstream, "taskId", "accountId"
       from jsonb_to_recordset($1::jsonb) as job (provider text, upstream jsonb, "taskId" text, "accountId" uuid)
     returning id, provider, upstream, task_id as "taskId"`,
    [JSON.stringify(jobs)],
  )
  return rows
}

/** Requests at once the removal of what these providers keep of ended tasks, inside a transaction; for work without haste. */
export const requestRetainedJobs = async (
  database: Database,
  tasks: { day: string; id: string }[],
  retaining: string[],
): Promise<void> => {
  if (tasks.length === 0 || retaining.length === 0) return
  await database.query(
    `insert into job_removals (provider, upstream, task_id, account_id, next_try_at)
     select t.provider, t.upstream, t.id, t.account_id, now()
       from jsonb_to_recordset($1::jsonb) as given (day date, id text)
       join video_tasks t on t.day = given.day and t.id = given.id
      where t.day = any($2::date[]) and t.upstream is not null and t.provider = any($3::text[])`,
    [JSON.stringify(tasks), [...new Set(tasks.map(({ day }) => day))], retaining],
  )
}

/** Takes requests that are due, so that no other process takes them before the next try: after a minute, doubling up to a day. */
export const takeDueJobRemovals = async (database: Database, limit: number): Promise<JobRemoval[]> => {
  const { rows } = await database.query<JobRemoval & Record<string, unknown>>(
    `update job_removals r
        set attempts = r.attempts + 1,
            next_try_at = now() + least(interval '1 day', interval '1 minute' * 2 ^ least(r.attempts, 20))
       from (select id from job_removals where next_try_at <= now() order by next_try_at limit $1 for update skip locked) due
      where r.id = due.id returning r.id, r.provider, r.upstream, r.task_id as "taskId"`,
    [limit],
  )
  return rows
}

export const forgetJobRemovals = async (database: Database, ids: number[]): Promise<void> => {
  await database.query('delete from job_removals where id = any($1::bigint[])', [ids])
}

/** Gives up jobs that could not be deleted for 30 days; returns their ids. */
export const giveUpJobRemovals = async (database: Database): Promise<JobRemoval[]> => {
  const { rows } = await database.query<JobRemoval & Record<string, unknown>>(
    `delete from job_removals where requested_at < now() - interval '30 days'
     returning id, provider, upstream, task_id as "taskId"`,
  )
  return rows
}
