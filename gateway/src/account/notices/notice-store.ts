/** Events that only time brings. Each statement records what it has told, so that an account is told once. */
import type { Database } from '../../platform/postgres.ts'

/** Tells accounts of keys that expire soon, once for each key and expiry. Returns how many. */
export const tellExpiringKeys = async (database: Database, withinDays: number): Promise<number> => {
  const { rowCount } = await database.query(
    `with told as (
       update keys set told_expiry = expires_at
        where account_id is not null and expires_at > now() and expires_at <= now() + make_interval(days => $1)
          and told_expiry is distinct from expires_at
          and disabled_at is null and deleted_at is null and not is_old_secret
       returning id, account_id, name, hint, expires_at
     )
     insert into account_events (account_id, type, object_id, data)
     select account_id, 'key.expiring', id::text,
            jsonb_build_object('id', id, 'object', 'key', 'name', name, 'hint', hint,
              'expires_at', floor(extract(epoch from expires_at)))
       from told order by expires_at`,
    [withinDays],
  )
  return rowCount ?? 0
}

/**
 * Tells the accounts that have used a deprecated model lately, once for each model and account. The first time it looks at the use
 * of `days`, later at that since the last time. A task may have ended before and been committed since.
 */
export const tellDeprecation = async (
  database: Database,
  { id, data, days }: { id: string; data: object; days: number },
): Promise<number> => {
  const { rowCount } = await database.query(
    `with since as (
       select coalesce((select checked_until - interval '1 hour' from deprecation_checks where model = $1),
                       now() - make_interval(days => $3)) as at
     ), checked as (
       insert into deprecation_checks (model, checked_until) values ($1, now())
       on conflict (model) do update set checked_until = excluded.checked_until
     ), used as (
       select distinct u.account_id from usage_entries u, since
        where u.model = $1 and u.ended_at >= since.at and u.day >= (since.at at time zone 'utc')::date
     ), told as (
       insert into told_deprecations (account_id, model)
       select a.id, $1 from used join accounts a on a.id = used.account_id and a.erased_at is null
       on conflict do nothing returning account_id
     )
     insert into account_events (account_id, type, object_id, data)
     select account_id, 'model.deprecated', $1, $2::jsonb from told`,
    [id, JSON.stringify(data), days],
  )
  return rowCount ?? 0
}
