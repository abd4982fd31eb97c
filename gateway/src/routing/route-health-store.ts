import type { Database } from '../platform/postgres.ts'

/** What is on record against a provider's way with a model. Times are told from now, so that clocks need not agree. */
export interface RecordedHealth {
  provider: string
  model: string
  openForMs: number
  openings: number
  reason: string
  isUnauthorized: boolean
  probedForMs: number
  /** Null while it has not recovered. */
  recoveredAgoMs: number | null
}

export const readHealth = async (database: Database): Promise<RecordedHealth[]> => {
  const { rows } = await database.query<RecordedHealth & Record<string, unknown>>(
    `select provider, model, openings, reason, is_unauthorized as "isUnauthorized",
            (extract(epoch from open_until - clock_timestamp()) * 1000)::double precision as "openForMs",
            (extract(epoch from probed_until - clock_timestamp()) * 1000)::double precision as "probedForMs",
            (extract(epoch from clock_timestamp() - recovered_at) * 1000)::double precision as "recoveredAgoMs"
       from route_health`,
  )
  return rows
}

/** Of two processes that find it unhealthy at the same time, the one that would leave it alone for longer is followed. */
export const recordOpening = async (
  database: Database,
  opening: Pick<
    RecordedHealth,
    'provider' | 'model' | 'openForMs' | 'openings' | 'reason' | 'isUnauthorized'
  >,
): Promise<void> => {
  await database.query(
    `insert into route_health as h (provider, model, open_until, openings, reason, is_unauthorized)
     values ($1, $2, clock_timestamp() + make_interval(secs => $3 / 1000.0), $4, $5, $6)
     on conflict (provider, model) do update
        set open_until = case when h.recovered_at is null then greatest(h.open_until, excluded.open_until)
                              else excluded.open_until end,
            openings = case when h.recovered_at is null then greatest(h.openings, excluded.openings)
                            else excluded.openings end,
            reason = excluded.reason, is_unauthorized = excluded.is_unauthorized, probed_until = 'epoch', recovered_at = null`,
    [
      opening.provider,
      opening.model,
      opening.openForMs,
      opening.openings,
      opening.reason,
      opening.isUnauthorized,
    ],
  )
}

export const recordRecovery = async (database: Database, provider: string, model: string): Promise<void> => {
  await database.query(
    `update route_health set recovered_at = clock_timestamp(), probed_until = 'epoch'
      where provider = $1 and model = $2 and recovered_at is null`,
    [provider, model],
  )
}

/** Clocks and the way to the record may differ by so much about when it may be tried. */
const toleranceMs = 250

/** Makes the caller the only one who tries it. Where nothing is on record against it, anybody may. */
export const takeProbe = async (
  database: Database,
  provider: string,
  model: string,
  forMs: number,
): Promise<boolean> => {
  const { rows } = await database.query<{ isTaken: boolean; isOnRecord: boolean }>(
    `with taken as (
       update route_health set probed_until = clock_timestamp() + make_interval(secs => $3 / 1000.0)
        where provider = $1 and model = $2 and recovered_at is null and probed_until <= clock_timestamp()
          and open_until <= clock_timestamp() + make_interval(secs => $4 / 1000.0)
       returning provider
     )
     select exists (select from taken) as "isTaken",
            exists (select from route_health where provider = $1 and model = $2 and recovered_at is null)
              as "isOnRecord"`,
    [provider, model, forMs, toleranceMs],
  )
  return rows[0] === undefined || rows[0].isTaken || !rows[0].isOnRecord
}

/** Lets somebody else try it. */
export const giveProbeBack = async (database: Database, provider: string, model: string): Promise<void> => {
  await database.query(
    `update route_health set probed_until = 'epoch' where provider = $1 and model = $2 and recovered_at is null`,
    [provider, model],
  )
}

/** Takes out what has long been well, and what nobody has asked for in a day. */
export const forgetOldHealth = async (database: Database): Promise<void> => {
  await database.query(
    `delete from route_health where recovered_at < now() - interval '10 minutes' or open_until < now() - interval '1 day'`,
  )
}

/** Forgets all that is known against a provider, and tells every process; answers with which models it was unhealthy. */
export const forgetHealthOf = async (database: Database, provider: string): Promise<string[]> => {
  const { rows } = await database.query<{ model: string; isUnhealthy: boolean }>(
    `delete from route_health where provider = $1 returning model, recovered_at is null as "isUnhealthy"`,
    [provider],
  )
  await database.query("select pg_notify('route_health', '')")
  return rows.flatMap(({ model, isUnhealthy }) => (isUnhealthy ? model : [])).toSorted()
}
