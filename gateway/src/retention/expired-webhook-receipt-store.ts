import type { Database } from '../platform/postgres.ts'

/** Forgets news that no provider brings again, a day after they were heard; answers how many. */
export const forgetNews = async (database: Database, atMost: number): Promise<number> => {
  const { rowCount } = await database.query(
    `delete from heard_news h using (
       select provider, id from heard_news where heard_at < now() - interval '24 hours' limit $1 for update skip locked
     ) due where h.provider = due.provider and h.id = due.id`,
    [atMost],
  )
  return rowCount ?? 0
}
