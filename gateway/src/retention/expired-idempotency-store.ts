import type { Database } from '../platform/postgres.ts'

/** Forgets replies that are no longer kept for a repeat of their request; answers how many. */
export const removeExpiredResponses = async (database: Database, limit: number): Promise<number> => {
  const { rowCount } = await database.query(
    `delete from idempotency_keys k using (
       select account_id, name from idempotency_keys where expires_at <= now() limit $1 for update skip locked
     ) due where k.account_id = due.account_id and k.name = due.name`,
    [limit],
  )
  return rowCount ?? 0
}

export const countExpiredResponses = async (database: Database): Promise<number> => {
  const { rows } = await database.query<{ count: number }>(
    'select count(*) from idempotency_keys where expires_at <= now()',
  )
  return rows[0]?.count ?? 0
}
