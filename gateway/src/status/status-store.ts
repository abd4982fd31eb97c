import type { ModelKind } from '@kinora/contract/operations/status'

import type { Database } from '../platform/postgres.ts'
import { endsWindowMinutes, type Judgement } from './judge-kind.ts'

/** How the tasks of a model ended in the last minutes. */
export interface ModelEnds {
  model: string
  completed: number
  faults: number
}

// What neither the customer nor the content has caused.
const isFault = (alias: string) => `${alias}.error_code in ('upstream_error', 'task_timeout')`
/** A task ends at most this many days after the day in its id, in which its row is. */
const daysOf = (entry: string) => `array[${entry}.day, ${entry}.day - 1, ${entry}.day - 2, ${entry}.day - 3]`
const ended = (tasks: string) =>
  `(select t.error_code from ${tasks} t where t.day = any(${daysOf('u')}) and t.id = u.id limit 1)`

export const readEnds = async (database: Database): Promise<ModelEnds[]> => {
  const { rows } = await database.query<ModelEnds & Record<string, unknown>>(
    `select model, count(*) filter (where outcome = 'completed') as completed,
            count(*) filter (where ${isFault('found')}) as faults
       from (select u.model, u.outcome,
                    case when u.outcome = 'failed' then
                      coalesce(${ended('video_tasks')}, ${ended('transcription_tasks')}) end as error_code
               from usage_entries u
              where u.ended_at > now() - make_interval(mins => $1)
                and u.day >= (now() at time zone 'utc')::date - 1) found
      group by model`,
    [endsWindowMinutes],
  )
  return rows
}

/** The seconds since the states were last judged; undefined if they never were. */
export const findJudgementAge = async (database: Database): Promise<number | undefined> => {
  const { rows } = await database.query<{ seconds: number | null }>(
    `select extract(epoch from clock_timestamp() - max(observed_at))::double precision as seconds from service_states`,
  )
  return rows[0]?.seconds ?? undefined
}

/**
 * Records the states, and adds the time since they were last judged to the day, as time in the state that they had. What is
 * beyond `gapSecondsMax` stays unknown. The rows are locked, so that two processes do not add the same time.
 */
export const recordStates = async (
  database: Database,
  judgements: Judgement[],
  gapSecondsMax: number,
): Promise<void> => {
  await database.query(
    `with given as materialized (
       select * from jsonb_to_recordset($1::jsonb) as g (kind text, state text, reasons jsonb)
     ), earlier as materialized (
       select s.kind, s.state, s.observed_at from service_states s order by s.kind for update
     ), passed as materialized (
       select e.kind, e.state, least(greatest(extract(epoch from clock_timestamp() - e.observed_at), 0), $2) as seconds
         from earlier e join given g on g.kind = e.kind
     ), counted as (
       insert into service_days as d (kind, day, observed_seconds, degraded_seconds, down_seconds)
       select kind, (now() at time zone 'utc')::date, seconds, case when state = 'degraded' then seconds else 0 end,
              case when state = 'down' then seconds else 0 end
         from passed order by kind
       on conflict (kind, day) do update
         set observed_seconds = d.observed_seconds + excluded.observed_seconds,
             degraded_seconds = d.degraded_seconds + excluded.degraded_seconds,
             down_seconds = d.down_seconds + excluded.down_seconds
     ), dropped as (
       delete from service_states s where s.kind not in (select kind from given)
     )
     insert into service_states as s (kind, state, reasons, since, observed_at)
     select g.kind, g.state, g.reasons, clock_timestamp(), clock_timestamp()
       from given g left join earlier e on e.kind = g.kind order by g.kind
     on conflict (kind) do update
       set state = excluded.state, reasons = excluded.reasons, observed_at = excluded.observed_at,
           since = case when s.state = excluded.state then s.since else excluded.since end`,
    [JSON.stringify(judgements), gapSecondsMax],
  )
}

export interface StoredState extends Judgement {
  since: Date
  observedAt: Date
  ageSeconds: number
}

export const readStates = async (database: Database): Promise<StoredState[]> => {
  const { rows } = await database.query<StoredState & Record<string, unknown>>(
    `select kind, state, reasons, since, observed_at as "observedAt",
            extract(epoch from clock_timestamp() - observed_at)::double precision as "ageSeconds"
       from service_states order by kind`,
  )
  return rows
}

export interface ServiceDay {
  kind: ModelKind
  date: string
  observedSeconds: number
  degradedSeconds: number
  downSeconds: number
}

/** How many days are kept, today included. */
export const statusDays = 90

const firstDay = `(now() at time zone 'utc')::date - ${statusDays - 1}`

/** The observed days, oldest first. */
export const readServiceDays = async (database: Database): Promise<ServiceDay[]> => {
  const { rows } = await database.query<ServiceDay & Record<string, unknown>>(
    `select kind, day::text as date, observed_seconds as "observedSeconds", degraded_seconds as "degradedSeconds",
            down_seconds as "downSeconds"
       from service_days where day >= ${firstDay} order by day, kind`,
  )
  return rows
}

export const removeOldServiceDays = async (database: Database): Promise<void> => {
  await database.query(`delete from service_days where day < ${firstDay}`)
}
