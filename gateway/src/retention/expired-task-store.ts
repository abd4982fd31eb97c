/** Tasks and metered requests whose own account no longer retains them. */
import { deleteUsageMetadata } from '../platform/database/usage-metadata-store.ts'
import type { Database } from '../platform/postgres.ts'
import type { TaskKey } from '../videos/task-store.ts'

/** Where a search begins: it goes through the accounts by id, so that each page continues at the account of the last one. */
export const firstAccount = '00000000-0000-0000-0000-000000000000'

interface Page {
  /** Retention of accounts without their own. */
  taskDays: number
  from: string
  limit: number
}

const expiredAt = 'now() - make_interval(days => coalesce(a.task_retention_days, $1::integer))'

/**
 * A page of expired rows. The condition on the day excludes later partitions; the day of a task is that of another clock than its
 * creation time.
 */
const expired = (table: string, hasEnded: string, limited = true) =>
  `select t.day, t.id, a.id as "accountId" from accounts a cross join lateral (
     select t.day, t.id from ${table} t
      where t.account_id = a.id and t.created_at <= ${expiredAt}
        and t.day <= ((${expiredAt}) at time zone 'utc')::date + 1 and ${hasEnded}
      ${limited ? 'order by t.created_at limit $3' : ''}) t
   ${limited ? 'where a.id >= $2 order by a.id limit $3' : ''}`

const hasEnded = `t.state in ('completed', 'failed')`
const isNotNeeded = `${hasEnded} and not exists (select from open_tasks o where o.source_task_id = t.id)`

/** Sources of an open remix are left out. */
export const findExpiredVideos = async (
  database: Database,
  { taskDays, from, limit }: Page,
): Promise<TaskKey[]> => {
  const { rows } = await database.query<TaskKey & Record<string, unknown>>(
    expired('video_tasks', isNotNeeded),
    [taskDays, from, limit],
  )
  return rows
}

export const findExpiredTranscriptions = async (
  database: Database,
  { taskDays, from, limit }: Page,
): Promise<TaskKey[]> => {
  const { rows } = await database.query<TaskKey & Record<string, unknown>>(
    expired('transcription_tasks', hasEnded),
    [taskDays, from, limit],
  )
  return rows
}

/** Deletes a page, and returns what it deleted. */
export const deleteExpiredRequests = async (
  database: Database,
  { taskDays, from, limit }: Page,
): Promise<{ accountId: string }[]> => {
  const { rows } = await database.query<{ accountId: string }>(
    `with due as materialized (${expired('metered_requests', `t.outcome <> 'open'`)}), gone as (
       delete from metered_requests m using due where m.day = due.day and m.id = due.id returning m.id, m.finished_at
     ), metadata as (${deleteUsageMetadata('gone')})
     select "accountId" from due order by "accountId"`,
    [taskDays, from, limit],
  )
  return rows
}

/** The number of expired tasks of all kinds. */
export const countExpiredTasks = async (database: Database, taskDays: number): Promise<number> => {
  const { rows } = await database.query<{ count: number }>(
    `select (select count(*) from (${expired('video_tasks', isNotNeeded, false)}) v)
            + (select count(*) from (${expired('transcription_tasks', hasEnded, false)}) s) as count`,
    [taskDays],
  )
  return rows[0]?.count ?? 0
}

/**
 * Deletes what is stored of attempts without a task, which earlier versions left behind; returns their number. Looks only at
 * the days whose retention has just ended, because nothing else is left of older ones.
 */
export const removeStrayAttempts = async (database: Database, taskDays: number): Promise<number> => {
  const { rowCount } = await database.query(
    `delete from task_attempts a
      where a.day between (now() - make_interval(days => $1::integer + 3))::date and (now() - make_interval(days => $1::integer))::date
        and not exists (select from video_tasks t where t.day = a.day and t.id = a.task_id)`,
    [taskDays],
  )
  return rowCount ?? 0
}

/**
 * Deletes deliveries of webhooks, with their attempts, by the retention of the request log. A pending one stays, unless its endpoint
 * is disabled: a task may end after the origin that its create named was disabled, and nobody may enable it again.
 */
export const removeOldDeliveries = async (
  database: Database,
  days: number,
  limit: number,
): Promise<number> => {
  const { rowCount } = await database.query(
    `with due as (
       select d.day, d.id from webhook_deliveries d
        where d.day < ((now() - make_interval(days => $1)) at time zone 'utc')::date
          and (d.state <> 'pending'
               or not exists (select from webhook_endpoints e where e.id = d.endpoint_id and e.disabled_at is null))
        limit $2
     ), attempts as (
       delete from webhook_attempts a using due where a.day = due.day and a.delivery_id = due.id
     )
     delete from webhook_deliveries d using due where d.day = due.day and d.id = due.id`,
    [days, limit],
  )
  return rowCount ?? 0
}

/** Deletes events of accounts by the retention of the request log. */
export const removeOldAccountEvents = async (
  database: Database,
  days: number,
  limit: number,
): Promise<number> => {
  const { rowCount } = await database.query(
    `with due as (
       select day, id from account_events
        where day < ((now() - make_interval(days => $1)) at time zone 'utc')::date limit $2
     )
     delete from account_events e using due where e.day = due.day and e.id = due.id`,
    [days, limit],
  )
  return rowCount ?? 0
}

/**
 * Deletes the oldest entries of the request log that are older than `days`; returns their number. The log has no key: entries up
 * to the time of the last one are deleted together.
 */
export const removeOldRequests = async (database: Database, days: number, limit: number): Promise<number> => {
  const { rowCount } = await database.query(
    `delete from request_log where at <= (
       select max(at) from (
         select at from request_log where at < now() - make_interval(days => $1::integer) order by at limit $2) oldest)`,
    [days, limit],
  )
  return rowCount ?? 0
}
