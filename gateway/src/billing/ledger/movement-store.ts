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

/** The database's time. It is the creation time of a movement, and so the time in its id. */
export const readClock = async (database: Database): Promise<Date> => {
  const { rows } = await database.query<{ at: Date }>('select clock_timestamp() as at')
  const [row] = rows
  if (row === undefined) throw new Error('The database returned no time.')
  return row.at
}

export const insertAccountMovement = async (
  database: Database,
  movement: AccountMovement,
): Promise<AccountMovement> => {
  const { id, accountId, wallet, kind, amountMicros, actor, reason, reference, createdAt } = movement
  const { rows } = await database.query<Row>(
    `insert into account_movements (id, account_id, wallet, kind, amount_micros, actor, reason, reference,
                                    created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9) returning ${columns}`,
    [id, accountId, wallet, kind, amountMicros, actor, reason, reference, createdAt],
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
