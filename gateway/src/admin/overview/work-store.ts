/** What ended lately, and how long it took. Everything is read from the partitions of the last two days. */
import type { Database } from '../../platform/postgres.ts'

const today = `(now() at time zone 'utc')::date`
const lastDays = (column: string) => `${column} >= ${today} - 1`

/** When a video task was created, by its id; null for what is no video. */
const createdMs = `case
  when starts_with(u.id, 'video_') then ('x' || translate(substr(u.id, 7, 13), '-', ''))::bit(48)::bigint
  when strpos(u.id, ':') > 0 then right(split_part(u.id, '-', -2), 10)::bigint * 1000
end`
const endedMs = '(extract(epoch from u.ended_at)::double precision * 1000)::bigint'

/** The columns of a group of ended work. The clock of a process may be ahead of that of the database. */
const percentile = (share: number) =>
  `percentile_disc(${share}) within group (order by greatest(took_ms, 0))
     filter (where took_ms is not null and outcome = 'completed')`

export interface EndedWork {
  /** Null for all providers together. */
  provider: string | null
  completed: number
  failed: number
  videos: number
  p50Ms: number | null
  p95Ms: number | null
}

/** The work of the last hour: in total, and by the provider that did it. */
export const readLastHour = async (database: Database): Promise<EndedWork[]> => {
  const { rows } = await database.query<EndedWork & Record<string, unknown>>(
    `select provider, count(*) filter (where outcome = 'completed') as completed,
            count(*) filter (where outcome = 'failed') as failed,
            count(*) filter (where outcome = 'completed' and took_ms is not null) as videos,
            ${percentile(0.5)}::bigint as "p50Ms", ${percentile(0.95)}::bigint as "p95Ms"
       from (select u.provider, u.outcome, ${endedMs} - ${createdMs} as took_ms
               from usage_entries u
              where ${lastDays('u.day')} and u.ended_at > now() - interval '1 hour') ended
      group by grouping sets ((provider), ()) having grouping(provider) = 1 or provider is not null`,
  )
  return rows
}

export interface EndedVideos {
  /** The start of the five minutes. */
  at: number
  completed: number
  failed: number
  p50Ms: number | null
  p95Ms: number | null
}

export const seriesStepSeconds = 300

/** The videos that ended since then, in steps of five minutes; steps without any are absent. */
export const readVideoSeries = async (database: Database, sinceSeconds: number): Promise<EndedVideos[]> => {
  const { rows } = await database.query<EndedVideos & Record<string, unknown>>(
    `select at, count(*) filter (where outcome = 'completed') as completed,
            count(*) filter (where outcome = 'failed') as failed,
            ${percentile(0.5)}::bigint as "p50Ms", ${percentile(0.95)}::bigint as "p95Ms"
       from (select floor(extract(epoch from u.ended_at)::double precision)::bigint / $1::bigint * $1::bigint as at, u.outcome,
                    ${endedMs} - ${createdMs} as took_ms
               from usage_entries u
              where ${lastDays('u.day')} and u.ended_at >= to_timestamp($2)
                and (starts_with(u.id, 'video_') or strpos(u.id, ':') > 0)) ended
      group by at order by at`,
    [seriesStepSeconds, sinceSeconds],
  )
  return rows
}

export interface WorkOfDay {
  day: string
  completed: number
  failed: number
  chargedMicros: number
  costMicros: number
  unknownCosts: number
}

/** The work that ended on the current UTC day, and what it cost. */
export const readWorkOfToday = async (database: Database): Promise<WorkOfDay> => {
  const { rows } = await database.query<WorkOfDay & Record<string, unknown>>(
    `select ${today} as day, count(*) filter (where outcome = 'completed') as completed,
            count(*) filter (where outcome = 'failed') as failed,
            coalesce(sum(captured_micros), 0)::bigint as "chargedMicros",
            coalesce(sum(cost_micros), 0)::bigint as "costMicros",
            count(*) filter (where cost_micros is null and captured_micros > 0) as "unknownCosts"
       from usage_entries where day = ${today}`,
  )
  const [found] = rows
  if (found === undefined) throw new Error('the sums of the day returned no row')
  return found
}

export interface RequestCounts {
  requests: number
  clientErrors: number
  serverErrors: number
}

/** The requests of the request log: of the current UTC day, or of the last hour. */
export const countRequests = async (database: Database, of: 'day' | 'hour'): Promise<RequestCounts> => {
  const { rows } = await database.query<RequestCounts & Record<string, unknown>>(
    `select count(*) as requests, count(*) filter (where status between 400 and 499) as "clientErrors",
            count(*) filter (where status >= 500) as "serverErrors"
       from request_log
      where ${lastDays('day')}
        and at >= case when $1 then ${today}::timestamp at time zone 'utc' else now() - interval '1 hour' end`,
    [of === 'day'],
  )
  return rows[0] ?? { requests: 0, clientErrors: 0, serverErrors: 0 }
}

export interface StoredMedia {
  objects: number
  sizeBytes: number
  measuredAt: Date
}

/** The media that is stored now. Recordings are not counted, because their size is not recorded. */
export const readStoredMedia = async (database: Database): Promise<StoredMedia | undefined> => {
  const { rows } = await database.query<StoredMedia & Record<string, unknown>>(
    `select count(*) as objects, coalesce(sum(size_bytes), 0)::bigint as "sizeBytes", now() as "measuredAt"
       from media where removed_at is null`,
  )
  return rows[0]
}

/** The time of the database, in seconds. */
export const readNow = async (database: Database): Promise<number> => {
  const { rows } = await database.query<{ now: number }>(
    'select floor(extract(epoch from now()))::bigint as now',
  )
  return rows[0]?.now ?? 0
}
