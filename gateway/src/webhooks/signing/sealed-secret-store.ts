/** The sealed secrets of webhooks, of endpoints and of accounts, to seal them again. */
import type { Database } from '../../platform/postgres.ts'

/** The tables with sealed secrets, and the column that tells their rows apart. */
const idColumns = { webhook_endpoints: 'id', webhook_secrets: 'account_id' } as const
export type SealedSecretTable = keyof typeof idColumns
export const sealedSecretTables = Object.keys(idColumns) as SealedSecretTable[]

export interface SealedSecrets {
  /** Of the endpoint, or of the account. */
  id: string
  accountId: string
  secret: Buffer
  previousSecret: Buffer | null
}

/** In the order of the ids, after one. */
export const listSealedSecrets = async (
  database: Database,
  table: SealedSecretTable,
  after: string,
  limit: number,
): Promise<SealedSecrets[]> => {
  const id = idColumns[table]
  const { rows } = await database.query<SealedSecrets & Record<string, unknown>>(
    `select ${id} as id, account_id as "accountId", secret, previous_secret as "previousSecret" from ${table}
      where secret is not null and ${id} > $1 order by ${id} limit $2`,
    [after, limit],
  )
  return rows
}

/** Replaces sealed secrets, unless they were rotated since they were read. */
export const replaceSealedSecrets = async (
  database: Database,
  table: SealedSecretTable,
  read: SealedSecrets,
  { secret, previousSecret }: Pick<SealedSecrets, 'secret' | 'previousSecret'>,
): Promise<void> => {
  await database.query(
    `update ${table} set secret = $2, previous_secret = $3
      where ${idColumns[table]} = $1 and secret = $4 and previous_secret is not distinct from $5`,
    [read.id, secret, previousSecret, read.secret, read.previousSecret],
  )
}
