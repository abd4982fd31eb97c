import type { Database } from '../platform/postgres.ts'
import type { RetentionDays } from './retention-days.ts'

/** Retention days for the results of account `a`; $1 and $2 are the instance settings. */
export const mediaDays = `least(coalesce(a.media_retention_days, $1::integer), coalesce(a.task_retention_days, $2::integer))`

/** Ignores small differences: expiry times were computed with the clock of another machine. */
const isOff = (due: string, noted: string) => `abs(extract(epoch from ${due} - ${noted})) > 60`

/**
 * A result that was being stored when the setting changed has the old expiry. A change is settled when no such result can
 * be stored any more, and is applied again after that.
 */
const isSettled = `changed_at < now() - interval '30 minutes'`

/** Notes the instance's settings; returns whether they have yet to be applied, and whether they are settled. */
export const noteInstanceDays = async (
  database: Database,
  { media, task }: RetentionDays,
): Promise<{ isDue: boolean; isSettled: boolean }> => {
  await database.query(
    `insert into applied_retention as r (media_days, task_days, changed_at) values ($1, $2, now())
     on conflict (singleton) do update
       set media_days = excluded.media_days, task_days = excluded.task_days, changed_at = now(), is_done = false
       where (r.media_days, r.task_days) is distinct from (excluded.media_days, excluded.task_days)`,
    [media, task],
  )
  const { rows } = await database.query<{ isDue: boolean; isSettled: boolean }>(
    `select not is_done as "isDue", ${isSettled} as "isSettled" from applied_retention`,
  )
  return rows[0] ?? { isDue: true, isSettled: false }
}

/** Notes that the instance's settings are applied, unless they have changed meanwhile. */
export const markInstanceDone = async (database: Database, { media, task }: RetentionDays): Promise<void> => {
  await database.query(
    'update applied_retention set is_done = true where media_days = $1 and task_days = $2',
    [media, task],
  )
}

export interface AccountChange {
  accountId: string
  /** In full precision, to notice a later change. */
  changedAt: string
  isSettled: boolean
}

export const listAccountChanges = async (database: Database): Promise<AccountChange[]> => {
  const { rows } = await database.query<AccountChange & Record<string, unknown>>(
    `select account_id as "accountId", changed_at::text as "changedAt", ${isSettled} as "isSettled" from retention_changes`,
  )
  return rows
}

/** Forgets changes that are applied, except for accounts that have changed again. */
export const forgetAccountChanges = async (database: Database, changes: AccountChange[]): Promise<void> => {
  await database.query(
    `delete from retention_changes c using unnest($1::uuid[], $2::timestamptz[]) as applied (account_id, changed_at)
      where c.account_id = applied.account_id and c.changed_at = applied.changed_at`,
    [changes.map(({ accountId }) => accountId), changes.map(({ changedAt }) => changedAt)],
  )
}

/** The instance's settings, and the accounts to align; undefined for all. */
export interface Alignment {
  days: RetentionDays
  accountIds: string[] | undefined
}

/**
 * Aligns a page of media that have not expired yet with the current settings. Variants expire with their video. Returns the
 * last id of the page; undefined after the last page.
 */
export const alignMediaPage = async (
  database: Database,
  { days: { media, task }, accountIds }: Alignment,
  after: string,
  limit: number,
): Promise<string | undefined> => {
  const { rows } = await database.query<{ id: string }>(
    `with page as materialized (
       select id, task_id, account_id, kind, created_at, expires_at, removed_at from media where id > $3 order by id limit $4
     ), video as (
       select v.task_id, v.expires_at, v.created_at + make_interval(days => ${mediaDays}) as due_at
         from page v join accounts a on a.id = v.account_id
        where v.kind = 'video' and v.removed_at is null and v.expires_at > now()
          and ($5::uuid[] is null or v.account_id = any($5))
     ), aligned as (
       update media m set expires_at = video.due_at from video
        where m.task_id = video.task_id and m.kind in ('video', 'thumbnail', 'spritesheet') and m.removed_at is null
          and ${isOff('video.due_at', 'video.expires_at')}
     )
     select id from page order by id desc limit 1`,
    [media, task, after, limit, accountIds ?? null],
  )
  return rows[0]?.id
}

/** The same for transcripts, whose expiry is stored with their task. */
export const alignTranscriptPage = async (
  database: Database,
  { days: { media, task }, accountIds }: Alignment,
  after: { day: string; id: string },
  limit: number,
): Promise<{ day: string; id: string } | undefined> => {
  const { rows } = await database.query<{ day: string; id: string }>(
    `with page as materialized (
       select day, id, account_id, finished_at, expires_at from transcription_tasks
        where (day, id) > ($3::date, $4) and has_transcript and expires_at > now() order by day, id limit $5
     ), aligned as (
       update transcription_tasks t set expires_at = due.due_at
         from (select p.day, p.id, p.finished_at + make_interval(days => ${mediaDays}) as due_at
                 from page p join accounts a on a.id = p.account_id
                where $6::uuid[] is null or p.account_id = any($6)) due
        where t.day = due.day and t.id = due.id and ${isOff('due.due_at', 't.expires_at')}
     )
     select day, id from page order by day desc, id desc limit 1`,
    [media, task, after.day, after.id, limit, accountIds ?? null],
  )
  return rows[0]
}
