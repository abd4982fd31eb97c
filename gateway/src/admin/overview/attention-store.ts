/** What is not known from the readings of metrics, of which alerts are made. */
import type { Database } from '../../platform/postgres.ts'

export const keyExpiryDays = 7
const days = (count: number) => `interval '${count} days'`

export interface ExpiringKeys {
  isOperator: boolean
  keys: number
  /** The key that expires first. */
  id: string
  name: string
  expiresAt: Date
}

/** Keys in use that expire soon. The old secret of a rotated key is meant to expire. */
export const findExpiringKeys = async (database: Database): Promise<ExpiringKeys[]> => {
  const { rows } = await database.query<ExpiringKeys & Record<string, unknown>>(
    `select distinct on (k.kind = 'admin') k.kind = 'admin' as "isOperator", k.id, k.name, k.expires_at as "expiresAt",
            count(*) over (partition by k.kind = 'admin') as keys
       from keys k
      where k.expires_at is not null and k.expires_at > now() and k.expires_at <= now() + ${days(keyExpiryDays)}
        and k.deleted_at is null and k.disabled_at is null and not k.is_old_secret
      order by k.kind = 'admin', k.expires_at, k.id`,
  )
  return rows
}

export interface WebhookProblems {
  /** Endpoints that were disabled within the last week, and not by their customers. */
  disabled: number
  disabledAccount: string | null
  disabledSince: Date | null
  /** Endpoints that have failed for more than an hour, and are still tried. */
  failing: number
  failingAccount: string | null
  failingSince: Date | null
  /** Deliveries that failed for good within the last 24 hours, as far as they were counted. */
  failed: number
  failedAccount: string | null
  failedSince: Date | null
}

const failedMax = 1_000

export const findWebhookProblems = async (database: Database): Promise<WebhookProblems> => {
  const { rows } = await database.query<WebhookProblems & Record<string, unknown>>(
    `with disabled as (
       select account_id, disabled_at from webhook_endpoints
        where kind = 'account' and disabled_reason in ('gone', 'failing') and disabled_at > now() - ${days(7)}
     ), failing as (
       select account_id, failing_since from webhook_endpoints
        where kind = 'account' and disabled_at is null and failing_since < now() - interval '1 hour'
     ), failed as (
       select account_id, ended_at from webhook_deliveries
        where state = 'failed' and day >= (now() at time zone 'utc')::date - 5 and ended_at > now() - ${days(1)}
        limit $1
     )
     select (select count(*) from disabled) as disabled,
            (select account_id from disabled order by disabled_at desc limit 1) as "disabledAccount",
            (select min(disabled_at) from disabled) as "disabledSince",
            (select count(*) from failing) as failing,
            (select account_id from failing order by failing_since limit 1) as "failingAccount",
            (select min(failing_since) from failing) as "failingSince",
            (select count(*) from failed) as failed,
            (select account_id from failed order by ended_at desc limit 1) as "failedAccount",
            (select min(ended_at) from failed) as "failedSince"`,
    [failedMax],
  )
  return (
    rows[0] ?? {
      ...{ disabled: 0, disabledAccount: null, disabledSince: null },
      ...{ failing: 0, failingAccount: null, failingSince: null },
      ...{ failed: 0, failedAccount: null, failedSince: null },
    }
  )
}

/** How many removals were requested hours ago and are not done, and since when. */
export const findLateRemovals = async (
  database: Database,
  hours: number,
): Promise<{ removals: number; since: Date | null }> => {
  const { rows } = await database.query<{ removals: number; since: Date | null }>(
    `select count(*) as removals, min(requested_at) as since
       from (select requested_at from file_removals union all select requested_at from job_removals) r
      where requested_at < now() - make_interval(hours => $1)`,
    [hours],
  )
  return rows[0] ?? { removals: 0, since: null }
}
