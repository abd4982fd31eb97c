/** The secret of an account that signs deliveries to the URLs of creates. */
import type { Database } from '../../platform/postgres.ts'

export interface SealedWebhookSecret {
  secret: Buffer
  /** In the future, or null. */
  previousSecretExpiresAt: Date | null
}

type Row = SealedWebhookSecret & Record<string, unknown>

const columns = `secret,
  case when previous_secret_expires_at > now() then previous_secret_expires_at end as "previousSecretExpiresAt"`

export const findWebhookSecret = async (
  database: Database,
  accountId: string,
): Promise<SealedWebhookSecret | undefined> => {
  const { rows } = await database.query<Row>(`select ${columns} from webhook_secrets where account_id = $1`, [
    accountId,
  ])
  return rows[0]
}

/** Stores a secret, unless the account has one. */
export const addWebhookSecret = async (
  database: Database,
  accountId: string,
  secret: Buffer,
): Promise<void> => {
  await database.query(
    `insert into webhook_secrets (account_id, secret) values ($1, $2) on conflict (account_id) do nothing`,
    [accountId, secret],
  )
}

/** Replaces the secret. The previous one signs as well until the overlap is over. */
export const replaceWebhookSecret = async (
  database: Database,
  accountId: string,
  secret: Buffer,
  overlapSeconds: number,
): Promise<SealedWebhookSecret | undefined> => {
  const { rows } = await database.query<Row>(
    `insert into webhook_secrets as s (account_id, secret) values ($1, $2)
     on conflict (account_id) do update
        set secret = excluded.secret,
            previous_secret = case when $3 > 0 then s.secret end,
            previous_secret_expires_at = case when $3 > 0 then now() + make_interval(secs => $3) end
     returning ${columns}`,
    [accountId, secret, overlapSeconds],
  )
  return rows[0]
}
