/** The endpoints that stand for the origins of the URLs that creates name. */
import type { Database } from '../../platform/postgres.ts'

interface Origin {
  accountId: string
  origin: string
}

/**
 * The endpoints of the given origins, without those that would be more than `originsMax` in their account. Usually it only reads:
 * an endpoint is written when it is new, disabled, or was not used for a day. `on conflict` sees an endpoint that was added, and
 * misses one that was deleted, after the statement began. The rows are written in a fixed order, so that concurrent calls do not
 * deadlock.
 *
 * A create that names the origin of a disabled endpoint enables it: nobody else can, since such endpoints are not managed, and
 * the caller expects its events.
 */
export const useTaskEndpoints = async (
  database: Database,
  origins: Origin[],
  /** Sealed secrets, in hexadecimal, for the accounts that have none. */
  secrets: { accountId: string; secret: string }[],
  originsMax: number,
): Promise<(Origin & { id: string })[]> => {
  const { rows } = await database.query<Origin & { id: string } & Record<string, unknown>>(
    `with given as materialized (
       select * from jsonb_to_recordset($1::jsonb) as g ("accountId" uuid, origin text)
     ), known as materialized (
       select e.id, e.account_id, e.url, e.disabled_at is null and e.used_at > now() - interval '1 day' as is_fresh
         from given g join webhook_endpoints e on e.account_id = g."accountId" and e.url = g.origin and e.kind = 'task'
     ), unknown as (
       select g.*, row_number() over (partition by g."accountId" order by g.origin) as position from given g
        where not exists (select from known k where k.account_id = g."accountId" and k.url = g.origin)
     ), admitted as materialized (
       select account_id, url from known where not is_fresh
       union all
       select u."accountId", u.origin from unknown u
        where u.position + (select count(*) from webhook_endpoints e
                             where e.account_id = u."accountId" and e.kind = 'task' and e.used_at > now() - interval '30 days') <= $3
     ), secret as (
       insert into webhook_secrets (account_id, secret)
       select s."accountId", decode(s.secret, 'hex') from jsonb_to_recordset($2::jsonb) as s ("accountId" uuid, secret text)
        where s."accountId" in (select account_id from admitted) order by s."accountId"
       on conflict (account_id) do nothing
     ), written as (
       insert into webhook_endpoints as e (id, account_id, kind, url, events)
       select uuid_v7(), account_id, 'task', url, '{}' from admitted order by account_id, url
       on conflict (account_id, url) where kind = 'task' do update
          set used_at = now(), disabled_at = null, disabled_reason = null,
              failures = case when e.disabled_at is null then e.failures else 0 end,
              failing_since = case when e.disabled_at is null then e.failing_since end,
              paused_until = case when e.disabled_at is null then e.paused_until end
       returning e.id, e.account_id, e.url
     )
     select account_id as "accountId", url as origin, id from known where is_fresh
      union all
     select account_id, url, id from written`,
    [JSON.stringify(origins), JSON.stringify(secrets), originsMax],
  )
  return rows
}
