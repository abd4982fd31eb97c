import type { Database } from '../../platform/postgres.ts'

/** The calls of a provider that ended in one minute. */
export interface ProviderCalls {
  provider: string
  /** The start of the minute, in seconds. */
  at: number
  calls: number
  errors: number
  p50Ms: number | null
  p95Ms: number | null
  /** The same duration over the whole hour. */
  hourP50Ms: number | null
}

const lastHour = (column: string) => `${column} > date_trunc('minute', now()) - interval '59 minutes'`
const lastDays = (column: string) => `${column} >= (now() at time zone 'utc')::date`
/** A task ends at most this many days after the day in its id, in which its row is. */
const daysOf = 'array[u.day, u.day - 1, u.day - 2, u.day - 3]'

/**
 * The last 60 minutes of every provider: submits, synchronous calls, and tasks that failed after their submit. What a
 * provider refused because of its content or its parameters is no error of the provider.
 */
export const readProviderCalls = async (database: Database): Promise<ProviderCalls[]> => {
  const { rows } = await database.query<ProviderCalls & Record<string, unknown>>(
    `with calls as materialized (
       select provider, ended_at as at, outcome in ('not_delivered', 'busy', 'unauthorized', 'unknown') as is_error,
              extract(epoch from ended_at - started_at) * 1000 as ms
         from task_attempts
        where ${lastDays('day')} - 3 and ${lastHour('ended_at')}
       union all
       select provider, at + duration_ms * interval '1 millisecond', status >= 500, duration_ms
         from request_log
        where ${lastDays('day')} - 1 and at > now() - interval '70 minutes' and provider is not null
          and ${lastHour(`at + duration_ms * interval '1 millisecond'`)}
       union all
       select u.provider, u.ended_at, true, null
         from usage_entries u
        where ${lastDays('u.day')} - 1 and ${lastHour('u.ended_at')} and u.outcome = 'failed'
          and u.provider is not null
          and exists (select from video_tasks t where t.day = any(${daysOf}) and t.id = u.id
                         and t.error_code in ('upstream_error', 'task_timeout'))
     ), usual as (
       select provider, percentile_disc(0.5) within group (order by ms) as ms from calls where ms is not null group by provider
     )
     select c.provider, extract(epoch from date_trunc('minute', c.at))::bigint as at, count(*) as calls,
            count(*) filter (where c.is_error) as errors,
            (percentile_disc(0.5) within group (order by c.ms))::bigint as "p50Ms",
            (percentile_disc(0.95) within group (order by c.ms))::bigint as "p95Ms",
            min(u.ms)::bigint as "hourP50Ms"
       from calls c left join usual u on u.provider = c.provider
      group by 1, 2 order by 1, 2`,
  )
  return rows
}
