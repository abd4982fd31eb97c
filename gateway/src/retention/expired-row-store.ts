import type { Database } from '../platform/postgres.ts'

/** Deletes expired idempotency keys; returns their number. */
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

/** Deletes webhook receipts after a day, when no redelivery is expected; returns their number. */
export const removeWebhookReceipts = async (database: Database, limit: number): Promise<number> => {
  const { rowCount } = await database.query(
    `delete from webhook_receipts w using (
       select provider, id from webhook_receipts where received_at < now() - interval '24 hours' limit $1 for update skip locked
     ) due where w.provider = due.provider and w.id = due.id`,
    [limit],
  )
  return rowCount ?? 0
}

/** Deletes the list positions of characters that were deleted more than `days` ago; returns their number. */
export const removeDeletedCharacters = async (
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
