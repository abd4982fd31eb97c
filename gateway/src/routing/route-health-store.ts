import type { Database } from '../platform/postgres.ts'

/** A row of `route_health`. Times are relative to now, so that clocks of processes need not agree. */
export interface StoredHealth {
  provider: string
  model: string
  openForMs: number
  openings: number
  reason: string
  isUnauthorized: boolean
  probedForMs: number
  /** Null until it recovers. */
  recoveredAgoMs: number | null
}

export const readHealth = async (database: Database): Promise<StoredHealth[]> => {
  const { rows } = await database.query<StoredHealth & Record<string, unknown>>(
    `select provider, model, openings, reason, is_unauthorized as "isUnauthorized",
            (extract(epoch from open_until - clock_timestamp()) * 1000)::double precision as "openForMs",
            (extract(epoch from probed_until - clock_timestamp()) * 1000)::double precision as "probedForMs",
            (extract(epoch from clock_timestamp() - recovered_at) * 1000)::double precision as "recoveredAgoMs"
       from route_health`,
  )
  return rows
}

/** If two processes open the breaker at the same time, the longer open time is stored. */
export const recordOpening = async (
  database: Database,
  opening: Pick<StoredHealth, 'provider' | 'model' | 'openForMs' | 'openings' | 'reason' | 'isUnauthorized'>,
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

/** Allowed difference between the clocks of this process and the database. */
const toleranceMs = 250

/** Claims the only probe of a half-open breaker. Without a stored opening every caller may probe. */
export const claimProbe = async (
  database: Database,
  provider: string,
  model: string,
  forMs: number,
): Promise<boolean> => {
  const { rows } = await database.query<{ isClaimed: boolean; isOpen: boolean }>(
    `with claimed as (
       update route_health set probed_until = clock_timestamp() + make_interval(secs => $3 / 1000.0)
        where provider = $1 and model = $2 and recovered_at is null and probed_until <= clock_timestamp()
          and open_until <= clock_timestamp() + make_interval(secs => $4 / 1000.0)
       returning provider
     )
     select exists (select from claimed) as "isClaimed",
            exists (select from route_health where provider = $1 and model = $2 and recovered_at is null)
              as "isOpen"`,
    [provider, model, forMs, toleranceMs],
  )
  return rows[0] === undefined || rows[0].isClaimed || !rows[0].isOpen
}

/** Allows another process to probe. */
export const releaseProbeClaim = async (
  database: Database,
  provider: string,
  model: string,
): Promise<void> => {
  await database.query(
    `update route_health set probed_until = 'epoch' where provider = $1 and model = $2 and recovered_at is null`,
    [provider, model],
  )
}

/** Deletes old recoveries, and openings that were not probed for a day. */
export const deleteOldHealth = async (database: Database): Promise<void> => {
  await database.query(
    `delete from route_health where recovered_at < now() - interval '10 minutes' or open_until < now() - interval '1 day'`,
  )
}

/** Resets the health of a provider in every process; returns the models it was unhealthy for. */
export const deleteHealthOf = async (database: Database, provider: string): Promise<string[]> => {
  const { rows } = await database.query<{ model: string; isUnhealthy: boolean }>(
    `delete from route_health where provider = $1 returning model, recovered_at is null as "isUnhealthy"`,
    [provider],
  )
  await database.query("select pg_notify('route_health', '')")
  return rows.flatMap(({ model, isUnhealthy }) => (isUnhealthy ? model : [])).toSorted()
}

/**
 * Records that an operator's test of a provider succeeded, and returns the models it was unhealthy for. A verified key
 * disproves a refused credential, which closes the breaker. Any other breaker allows a probe now, because a test is no job.
 */
export const recordPassedTest = async (
  database: Database,
  provider: string,
  isKeyVerified: boolean,
): Promise<string[]> => {
  const { rows } = await database.query<{ model: string }>(
    `with closed as (
       delete from route_health where provider = $1 and recovered_at is null and is_unauthorized and $2 returning model
     ), half_open as (
       update route_health set open_until = clock_timestamp(), probed_until = 'epoch', is_unauthorized = false
        where provider = $1 and recovered_at is null and not (is_unauthorized and $2) returning model
     )
     select model from closed union all select model from half_open order by model`,
    [provider, isKeyVerified],
  )
  if (rows.length > 0) await database.query("select pg_notify('route_health', '')")
  return rows.map(({ model }) => model)
}
