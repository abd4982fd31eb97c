/** Files whose rows are deleted, until the media store has removed them. */
import type { Database } from '../../platform/postgres.ts'

export interface FileRemoval {
  id: number
  storageKey: string
}

/**
 * A part of a statement that deletes rows of files: requests the removal of what the query `gone` returned, and returns the
 * requests. `gone` has the columns `storage_key` and `account_id`.
 */
export const requestRemovals = (gone: string): string =>
  `insert into file_removals (storage_key, account_id) select storage_key, account_id from ${gone}
   returning id, storage_key as "storageKey"`

/** Takes requests that are due, so that no other process takes them before the next try: after half a minute, doubling up to ten. */
export const takeDueFileRemovals = async (database: Database, limit: number): Promise<FileRemoval[]> => {
  const { rows } = await database.query<FileRemoval & Record<string, unknown>>(
    `update file_removals r
        set attempts = r.attempts + 1,
            next_try_at = now() + least(interval '10 minutes', interval '30 seconds' * 2 ^ least(r.attempts, 10))
       from (select id from file_removals where next_try_at <= now() order by next_try_at limit $1 for update skip locked) due
      where r.id = due.id returning r.id, r.storage_key as "storageKey"`,
    [limit],
  )
  return rows
}

export const forgetFileRemovals = async (database: Database, ids: number[]): Promise<void> => {
  await database.query('delete from file_removals where id = any($1::bigint[])', [ids])
}
