import type { Database } from '../platform/postgres.ts'

/** Forgets news that no provider brings again, a day after they were heard; answers how many. */
export const removeWebhookReceipts = async (database: Database, limit: number): Promise<number> => {
  const { rowCount } = await database.query(
    `delete from webhook_receipts h using (
       select provider, id from webhook_receipts where received_at < now() - interval '24 hours' limit $1 for update skip locked
     ) due where h.provider = due.provider and h.id = due.id`,
    [limit],
  )
  return rowCount ?? 0
}
