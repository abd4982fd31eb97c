import type { Database } from '../platform/postgres.ts'

/** Claims a part of the sweep for `everyMs`; false if another process has it. */
export const claimLease = async (database: Database, key: string, everyMs: number): Promise<boolean> => {
  const { rowCount } = await database.query(
    `insert into engine_ticks as t (loop, key, ticked_at) values ('retention', $1, now())
     on conflict (loop, key) do update set ticked_at = now()
     where t.ticked_at < now() - make_interval(secs => $2 / 1000.0)`,
    [key, everyMs],
  )
  return rowCount === 1
}
