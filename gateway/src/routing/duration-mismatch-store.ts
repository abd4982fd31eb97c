import type { Database } from '../platform/postgres.ts'

export const countDurationMismatch = async (database: Database, provider: string): Promise<void> => {
  await database.query(
    `insert into duration_mismatches as m (provider, mismatches, last_at) values ($1, 1, now())
     on conflict (provider) do update set mismatches = m.mismatches + 1, last_at = now()`,
    [provider],
  )
}

/** The number of mismatches of each provider. Providers without any are absent. */
export const readDurationMismatches = async (database: Database): Promise<Map<string, number>> => {
  const { rows } = await database.query<{ provider: string; mismatches: number }>(
    'select provider, mismatches from duration_mismatches',
  )
  return new Map(rows.map(({ provider, mismatches }) => [provider, mismatches]))
}
