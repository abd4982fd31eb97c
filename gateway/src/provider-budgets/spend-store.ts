/** What providers with a budget have cost today, by UTC day and on the clock of the database. */
import type { Database } from '../platform/postgres.ts'

/** What a provider may cost per day, in micros. */
export interface DailyBudget {
  provider: string
  micros: number
  /** The amount from which on operators are warned. */
  alertMicros: number
  /** Whether the provider gets no new work once the amount is reached. */
  stops: boolean
}

export interface Spend {
  provider: string
  day: string
  /** What tasks and requests that ended today have cost. */
  spentMicros: number
  /** What jobs in flight cost. */
  committedMicros: number
  /** The end of the day, and the time until then. */
  resetsAt: Date
  remainingMs: number
}

/** What a count has found for the first time today: the amount to warn of, or the whole budget, is reached. */
export interface CountedSpend extends Spend {
  isNewlyAlerted: boolean
  isNewlyExhausted: boolean
}

const today = `(now() at time zone 'utc')::date`

/** Whether a row of `provider_spend` says that its provider gets no new work now, as SQL. Without its budget it is not counted. */
export const isStopped = (alias: string): string =>
  `${alias}.is_stopped and ${alias}.day = ${today} and ${alias}.counted_at > clock_timestamp() - interval '1 minute'`

const spendColumns = `s.provider, s.day, s.spent_micros as "spentMicros", s.committed_micros as "committedMicros",
  (s.day + 1)::timestamp at time zone 'utc' as "resetsAt",
  extract(epoch from (s.day + 1)::timestamp at time zone 'utc' - clock_timestamp())::double precision * 1000 as "remainingMs"`

/** The figures of today that were counted at most this long ago. */
export const readSpend = async (
  database: Database,
  providers: string[],
  ageMsMax: number,
): Promise<Map<string, Spend>> => {
  const { rows } = await database.query<Spend & Record<string, unknown>>(
    `select ${spendColumns} from provider_spend s
      where s.provider = any($1::text[]) and s.day = ${today}
        and s.counted_at > clock_timestamp() - make_interval(secs => $2::double precision / 1000)`,
    [providers, ageMsMax],
  )
  return new Map(rows.map((row) => [row.provider, row]))
}

/** An entry may become visible this long after its time: longer than any transaction that ends a task. */
const settledMinutes = 10

/** Makes this process the one that counts these figures, unless another one has begun to within `ageMsMin`. */
const claimCount = async (
  database: Database,
  providers: string[],
  ageMsMin: number,
): Promise<Set<string>> => {
  await database.query(
    `insert into provider_spend (provider, day, settled_until)
     select name, ${today}, ${today}::timestamp at time zone 'utc' from unnest($1::text[]) as name
      where not exists (select from provider_spend s where s.provider = name)
      order by name on conflict (provider) do nothing`,
    [providers],
  )
  const { rows } = await database.query<{ provider: string }>(
    `with due as (
       select provider from provider_spend
        where provider = any($1::text[])
          and (day < ${today} or claimed_at <= clock_timestamp() - make_interval(secs => $2::double precision / 1000))
        order by provider for update skip locked
     )
     update provider_spend s set claimed_at = clock_timestamp() from due where s.provider = due.provider returning s.provider`,
    [providers, ageMsMin],
  )
  return new Set(rows.map(({ provider }) => provider))
}

/** Counts the figures anew, unless another process does. No other statement waits for it. */
export const countSpend = async (
  database: Database,
  budgets: DailyBudget[],
  ageMsMin = 0,
): Promise<CountedSpend[]> => {
  const claimed = await claimCount(
    database,
    budgets.map(({ provider }) => provider),
    ageMsMin,
  )
  const given = budgets.filter(({ provider }) => claimed.has(provider))
  if (given.length === 0) return []
  const { rows } = await database.query<CountedSpend & Record<string, unknown>>(
    `with given as materialized (
       select g.*, case when s.day = ${today} then s.settled_micros else 0 end as settled,
              case when s.day = ${today} then s.settled_until else ${today}::timestamp at time zone 'utc' end as since,
              case when s.day = ${today} then s.alerted_micros end as alerted,
              case when s.day = ${today} then s.exhausted_micros end as exhausted
         from jsonb_to_recordset($1::jsonb) as g (provider text, micros bigint, "alertMicros" bigint, stops boolean)
         join provider_spend s on s.provider = g.provider
     ), ended as (
       select u.provider, coalesce(sum(u.cost_micros), 0)::bigint as micros,
              coalesce(sum(u.cost_micros)
                filter (where u.ended_at < now() - make_interval(mins => $2)), 0)::bigint as settled
         from usage_entries u join given g on g.provider = u.provider and u.ended_at >= g.since
        where u.day = ${today} and u.ended_at >= (select min(since) from given)
        group by u.provider
     ), open as (
       select provider, coalesce(sum(cost), 0)::bigint as committed
         from (select o.provider, o.cost_micros as cost from open_tasks o
                where o.provider in (select provider from given) and o.stage <> 'accepted'
                  and (o.stage <> 'starting' or o.outcome_unknown_since is not null)
                union all
               select t.provider, t.cost_micros
                 from open_transcriptions o join transcription_tasks t on t.day = o.day and t.id = o.task_id
                where t.provider in (select provider from given)) work
        group by provider
     ), counted as (
       select g.*, g.settled + coalesce(e.micros, 0) as spent, coalesce(o.committed, 0) as committed,
              g.settled + coalesce(e.settled, 0) as newly_settled,
              g.settled + coalesce(e.micros, 0) + coalesce(o.committed, 0) as total
         from given g left join ended e on e.provider = g.provider left join open o on o.provider = g.provider
     )
     update provider_spend s
        set day = ${today}, spent_micros = c.spent, committed_micros = c.committed,
            settled_micros = c.newly_settled, settled_until = greatest(c.since, now() - make_interval(mins => $2)),
            is_stopped = c.stops and c.total >= c.micros,
            alerted_micros = case when c.total >= c."alertMicros" then c."alertMicros" else c.alerted end,
            exhausted_micros = case when c.total >= c.micros then c.micros else c.exhausted end,
            counted_at = clock_timestamp()
       from counted c where s.provider = c.provider and s.day <= ${today}
     returning ${spendColumns},
               c.total >= c."alertMicros" and c.alerted is distinct from c."alertMicros" as "isNewlyAlerted",
               c.total >= c.micros and c.exhausted is distinct from c.micros as "isNewlyExhausted"`,
    [JSON.stringify(given), settledMinutes],
  )
  return rows
}

/** The providers that get no new work now. */
export const findStoppedProviders = async (database: Database): Promise<string[]> => {
  const { rows } = await database.query<{ provider: string }>(
    `select s.provider from provider_spend s where ${isStopped('s')} order by s.provider`,
  )
  return rows.map(({ provider }) => provider)
}
