/** The ticks of dispatchers, and the last runs of periodic jobs. */
import type { Database } from '../postgres.ts'

// Ends the transaction of a frozen worker, so that another can execute the tick.
const idleTimeout = '3s'

/**
 * Records that a tick claims tasks. Returns false if it has done so before: the engine repeats a tick whose worker it
 * considers dead, and that worker may go on much later.
 */
export const recordTick = async (
  database: Database,
  loop: string,
  key: string,
  tickId: string,
): Promise<boolean> => {
  const { rowCount } = await database.query(
    `with frozen as (select set_config('idle_in_transaction_session_timeout', $4, true))
     insert into ticks (loop, key, id, ticked_at) select $1, $2, $3, now() from frozen on conflict do nothing`,
    [loop, key, tickId, idleTimeout],
  )
  return rowCount === 1
}

/** Claims a periodic job for `everyMs`; false if another process has it. */
export const claimJob = async (
  database: Database,
  loop: string,
  key: string,
  everyMs: number,
): Promise<boolean> => {
  const { rowCount } = await database.query(
    `insert into ticks as t (loop, key, id, ticked_at) values ($1, $2, '', now())
     on conflict (loop, key, id) do update set ticked_at = now()
     where t.ticked_at < now() - make_interval(secs => $3 / 1000.0)`,
    [loop, key, everyMs],
  )
  return rowCount === 1
}

/** Claims periodic jobs in one statement, each for its own time; returns those that no other process has. */
export const claimJobs = async (
  database: Database,
  loop: string,
  jobs: { name: string; everyMs: number }[],
): Promise<Set<string>> => {
  // In one order, so that processes that claim the same jobs do not wait for each other.
  const sorted = jobs.toSorted((one, other) => (one.name < other.name ? -1 : 1))
  const { rows } = await database.query<{ name: string }>(
    `with job as (select name, every_ms from unnest($2::text[], $3::double precision[]) as given (name, every_ms))
     insert into ticks as t (loop, key, id, ticked_at) select $1, name, '', now() from job
     on conflict (loop, key, id) do update set ticked_at = now()
     where t.ticked_at < now() - make_interval(secs => (select every_ms from job where job.name = t.key) / 1000)
     returning key as name`,
    [loop, sorted.map(({ name }) => name), sorted.map(({ everyMs }) => everyMs)],
  )
  return new Set(rows.map(({ name }) => name))
}

/** The seconds since a periodic job was last claimed; undefined if it never was. */
export const findJobAge = async (
  database: Database,
  loop: string,
  key: string,
): Promise<number | undefined> => {
  const { rows } = await database.query<{ seconds: number }>(
    `select extract(epoch from clock_timestamp() - ticked_at)::double precision as seconds
       from ticks where loop = $1 and key = $2 and id = ''`,
    [loop, key],
  )
  return rows[0]?.seconds
}

/** Deletes ticks that no worker can repeat any more. */
export const removeOldTicks = async (database: Database): Promise<void> => {
  await database.query(`delete from ticks where id <> '' and ticked_at < now() - interval '1 hour'`)
}
