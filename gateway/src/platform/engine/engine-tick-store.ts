import type { Database } from '../postgres.ts'

/** Records that a loop of the engine has ticked, so that workers see that it is alive. */
export const recordTick = async (database: Database, loop: string, key: string): Promise<void> => {
  await database.query(
    `insert into engine_ticks (loop, key, ticked_at) values ($1, $2, now())
     on conflict (loop, key) do update set ticked_at = now()`,
    [loop, key],
  )
}

/** The loops whose last tick is too long ago, or that never ticked. */
export const silentLoops = async (
  database: Database,
  loops: { loop: string; key: string }[],
  silenceMs: number,
): Promise<{ loop: string; key: string }[]> => {
  const { rows } = await database.query<{ loop: string; key: string }>(
    `select wanted.loop, wanted.key from unnest($1::text[], $2::text[]) as wanted (loop, key)
       left join engine_ticks t on t.loop = wanted.loop and t.key = wanted.key
      where t.ticked_at is null or t.ticked_at < now() - make_interval(secs => $3 / 1000.0)`,
    [loops.map(({ loop }) => loop), loops.map(({ key }) => key), silenceMs],
  )
  return rows
}
