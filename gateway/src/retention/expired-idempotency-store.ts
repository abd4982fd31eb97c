import type { Database } from '../platform/postgres.ts'

/** Forgets replies that are no longer kept for a repeat of their request; answers how many. */
export const forgetReplies = async (database: Database, atMost: number): Promise<number> => {
  const { rowCount } = await database.query(
    `delete from kept_replies k using (
       select account_id, name from kept_replies where expires_at <= now() limit $1 for update skip locked
     ) due where k.account_id = due.account_id and k.name = due.name`,
    [atMost],
  )
  return rowCount ?? 0
}

export const countPastReplies = async (database: Database): Promise<number> => {
  const { rows } = await database.query<{ count: number }>(
    'select count(*) from kept_replies where expires_at <= now()',
  )
  return rows[0]?.count ?? 0
}
