import type { Database } from '../../platform/postgres.ts'
import type { Wallet } from '../money/money.ts'

export interface AccountMovement {
  id: string
  accountId: string
  wallet: Wallet
  kind: 'top_up' | 'grant' | 'adjustment' | 'expiry' | 'refund'
  /** Negative for a debit. */
  amountMicros: number
  actor: string
  reason: string
  /** Idempotency reference, unique per account and kind. */
  reference: string | null
  createdAt: Date
}

const columns = `id, account_id as "accountId", wallet, kind, amount_micros as "amountMicros", actor, reason, reference,
  created_at as "createdAt"`

type Row = AccountMovement & Record<string, unknown>

export const insertAccountMovement = async (
  database: Database,
  movement: Omit<AccountMovement, 'createdAt'>,
): Promise<AccountMovement> => {
  const { id, accountId, wallet, kind, amountMicros, actor, reason, reference } = movement
  const { rows } = await database.query<Row>(
    `insert into account_movements (id, account_id, wallet, kind, amount_micros, actor, reason, reference)
     values ($1, $2, $3, $4, $5, $6, $7, $8) returning ${columns}`,
    [id, accountId, wallet, kind, amountMicros, actor, reason, reference],
  )
  const [made] = rows
  if (made === undefined) throw new Error('The movement was not inserted.')
  return made
}

export const findAccountMovement = async (
  database: Database,
  { accountId, kind, reference }: Pick<AccountMovement, 'accountId' | 'kind' | 'reference'>,
): Promise<AccountMovement | undefined> => {
  const { rows } = await database.query<Row>(
    `select ${columns} from account_movements where account_id = $1 and kind = $2 and reference = $3`,
    [accountId, kind, reference],
  )
  return rows[0]
}
