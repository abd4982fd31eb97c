import type { Database } from '../../platform/postgres.ts'
import type { Wallet } from '../money/money.ts'
import type { Instant } from './ledger-store.ts'
import type { AccountMovement } from './movement-store.ts'
import { findUsage } from './receipt-store.ts'

/** The charge of a task or metered request. It never changes. */
export interface Charge {
  accountId: string
  wallet: Wallet
  keyId: string
  capturedMicros: number
  heldSince: Instant
  /** The day of its usage entry. */
  usageDay: string
}

/** Undefined if the task or request does not exist or was not charged. */
export const findCharge = async (
  database: Database,
  { id, day }: { id: string; day: string },
): Promise<Charge | undefined> => {
  const { rows } = await database.query<Omit<Charge, 'usageDay'> & Record<string, unknown>>(
    `select capture.account_id as "accountId", capture.wallet, capture.key_id as "keyId",
            capture.amount_micros as "capturedMicros", hold.created_at::text as "heldSince"
       from ledger_entries capture
       join ledger_entries hold
         on hold.day = capture.day and hold.task_id = capture.task_id and hold.movement = 'hold' and hold.book = 'held'
      where capture.day = $1 and capture.task_id = $2 and capture.movement = 'capture' and capture.book = 'revenue'
        and capture.key_id is not null`,
    [day, id],
  )
  const [charge] = rows
  if (charge === undefined) return undefined
  const usage = await findUsage(database, { id, day, accountId: charge.accountId })
  return usage && { ...charge, usageDay: usage.usageDay }
}

export interface Refund extends Pick<AccountMovement, 'id' | 'amountMicros' | 'createdAt'> {
  taskId: string
}

/** The refunds of a task or metered request, oldest first. */
export const listRefunds = async (database: Database, taskId: string): Promise<Refund[]> => {
  const { rows } = await database.query<Refund & Record<string, unknown>>(
    `select r.id, r.task_id as "taskId", m.amount_micros as "amountMicros", m.created_at as "createdAt"
       from refunds r join account_movements m on m.id = r.id
      where r.task_id = $1 order by m.created_at, r.id`,
    [taskId],
  )
  return rows
}

export const insertRefund = async (
  database: Database,
  refund: { id: string; day: string; taskId: string; taskDay: string; usageDay: string },
): Promise<void> => {
  const { id, day, taskId, taskDay, usageDay } = refund
  await database.query(
    'insert into refunds (id, day, task_id, task_day, usage_day) values ($1, $2, $3, $4, $5)',
    [id, day, taskId, taskDay, usageDay],
  )
}
