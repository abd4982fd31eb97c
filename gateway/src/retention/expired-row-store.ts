import { sessionEnd } from '../auth/session-store.ts'
import type { Database } from '../platform/postgres.ts'

/** Deletes expired idempotency keys; returns their number. */
export const removeExpiredResponses = async (database: Database, limit: number): Promise<number> => {
  const { rowCount } = await database.query(
    `delete from idempotency_keys k using (
       select account_id, name from idempotency_keys where expires_at <= now() limit $1 for update skip locked
     ) due where k.account_id = due.account_id and k.name = due.name`,
    [limit],
  )
  return rowCount ?? 0
}

export const countExpiredResponses = async (database: Database): Promise<number> => {
  const { rows } = await database.query<{ count: number }>(
    'select count(*) from idempotency_keys where expires_at <= now()',
  )
  return rows[0]?.count ?? 0
}

/** Deliveries are sent, and can be repeated, as long as their endpoint exists. */
const unusedEndpointDays = 30

/**
 * Deletes the endpoints that stand for the origins of URLs of creates, once no create has named them for 30 days, or for the
 * retention of the deliveries; returns their number. One with a pending delivery stays.
 */
export const removeUnusedEndpoints = async (
  database: Database,
  logDays: number,
  limit: number,
): Promise<number> => {
  const { rowCount } = await database.query(
    `delete from webhook_endpoints where id in (
       select e.id from webhook_endpoints e
        where e.kind = 'task' and e.used_at < now() - make_interval(days => greatest($1::integer + 1, ${unusedEndpointDays}))
          and not exists (select from webhook_deliveries d where d.endpoint_id = e.id and d.state = 'pending')
        limit $2 for update skip locked)`,
    [logDays, limit],
  )
  return rowCount ?? 0
}

/** Deletes sessions and links of the console that have ended; returns how many sessions. */
export const removeEndedSessions = async (database: Database, limit: number): Promise<number> => {
  await database.query('delete from console_links where expires_at < now()')
  const { rowCount } = await database.query(
    `delete from console_sessions where id in (
       select s.id from console_sessions s where ${sessionEnd('s')} <= now() limit $1 for update skip locked)`,
    [limit],
  )
  return rowCount ?? 0
}

/** Deletes webhook receipts after a day, when no redelivery is expected; returns their number. */
export const removeWebhookReceipts = async (database: Database, limit: number): Promise<number> => {
  const { rowCount } = await database.query(
    `delete from webhook_receipts w using (
       select provider, id from webhook_receipts where received_at < now() - interval '24 hours' limit $1 for update skip locked
     ) due where w.provider = due.provider and w.id = due.id`,
    [limit],
  )
  return rowCount ?? 0
}

/** Deletes the list positions of characters that were deleted before the account's retention of tasks; returns their number. */
export const removeDeletedCharacters = async (
  database: Database,
  taskDays: number,
  limit: number,
): Promise<number> => {
  const { rowCount } = await database.query(
    `delete from deleted_characters where id in (
       select d.id from deleted_characters d left join accounts a on a.id = d.account_id
        where d.deleted_at < now() - make_interval(days => coalesce(a.task_retention_days, $1::integer))
        limit $2 for update of d skip locked)`,
    [taskDays, limit],
  )
  return rowCount ?? 0
}

/**
 * Deletes the rows of keys that were deleted, and of old secrets that expired, more than `days` ago; returns their number.
 * Lists of tasks and requests show the names of their keys, so a row lasts as long as those. A key with an open task stays,
 * because the task's hold counts against its quota.
 */
export const removeDeletedKeys = async (database: Database, days: number, limit: number): Promise<number> => {
  const { rows } = await database.query<{ count: number }>(
    `with due as materialized (
       select id from keys k
        where (deleted_at < now() - make_interval(days => $1::integer)
               or is_old_secret and expires_at < now() - make_interval(days => $1::integer))
          and not exists (select from open_tasks o where o.key_id = k.id)
          and not exists (select from transcription_tasks t join open_transcriptions o on o.day = t.day and o.task_id = t.id
                           where t.key_id = k.id)
          and not exists (select from metered_requests r where r.key_id = k.id and r.outcome = 'open')
        limit $2 for update skip locked
     ), quotas as (delete from key_quotas where key_id in (select id from due)),
        budgets as (delete from key_budgets where key_id in (select id from due)),
        openings as (delete from opening_key_usage where key_id in (select id from due)),
        removed as (delete from keys where id in (select id from due) returning id)
     select count(*) from removed`,
    [days, limit],
  )
  return rows[0]?.count ?? 0
}

/** Longer than providers recognize repeated submits, and send webhooks about a job. */
const claimDays = 30

/**
 * Deletes the claims of jobs when nothing asks for them any more; returns their number. Until then a provider that returns an old
 * job for a new task is caught. The claim of an open task stays.
 */
export const removeClaimedJobs = async (database: Database, limit: number): Promise<number> => {
  const { rowCount } = await database.query(
    `delete from claimed_jobs c using (
       select provider, job from claimed_jobs due
        where due.claimed_at < now() - interval '${claimDays} days'
          and not exists (select from open_tasks o where o.task_id = due.task_id)
        order by due.claimed_at limit $1 for update skip locked
     ) due where c.provider = due.provider and c.job = due.job`,
    [limit],
  )
  return rowCount ?? 0
}
