import type { Database } from '../platform/postgres.ts'

/** Forgets where characters were in the list that were deleted so long ago; answers how many. */
export const forgetDeletedCharacters = async (
  database: Database,
  days: number,
  limit: number,
): Promise<number> => {
  const { rowCount } = await database.query(
    `delete from deleted_characters where id in (
       select id from deleted_characters
        where deleted_at < now() - make_interval(days => $1::integer) limit $2 for update skip locked)`,
    [days, limit],
  )
  return rowCount ?? 0
}
