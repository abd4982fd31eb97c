import type { AccountMovement } from '../../billing/ledger/movement-store.ts'
import type { Database } from '../../platform/postgres.ts'
import { filter, microsecondsOf, timeOf } from '../filter.ts'

export interface ListedMovement extends AccountMovement {
  createdMicroseconds: number
}

/** The movements of one account, newest first. */
export const listMovementRecords = async (
  database: Database,
  given: { accountId: string; after: string[] | undefined; limit: number },
): Promise<ListedMovement[]> => {
  const { where, values } = filter([
    ['account_id = ?', given.accountId],
    [`(created_at, id) < (${timeOf('?')}, ?)`, ...(given.after ?? [])],
  ])
  const { rows } = await database.query<ListedMovement & Record<string, unknown>>(
    `select id, account_id as "accountId", wallet, kind, amount_micros as "amountMicros", actor, reason, reference,
            created_at as "createdAt", ${microsecondsOf('created_at')} as "createdMicroseconds"
       from account_movements ${where} order by created_at desc, id desc limit $${values.length + 1}`,
    [...values, given.limit],
  )
  return rows
}

export interface LedgerRecord {
  day: string
  id: number
  accountId: string
  wallet: string
  taskId: string | null
  movement: string
  book: string
  amountMicros: number
  createdAt: Date
}

/**
 * Ledger entries by the day of their task, newest first, which is the order of the primary key. The day of a task is in
 * its id, and no entry precedes it.
 */
export const listLedgerRecords = async (
  database: Database,
  given: {
    accountId: string | undefined
    task: { id: string; day: string } | undefined
    movement: string | undefined
    from: Date | undefined
    to: Date | undefined
    after: string[] | undefined
    limit: number
  },
): Promise<LedgerRecord[]> => {
  const { where, values } = filter([
    ['account_id = ?', given.accountId],
    ['day = ? and task_id = ?', given.task?.day, given.task?.id],
    ['movement = ?', given.movement],
    ['created_at >= ?', given.from],
    [`created_at < ? and day <= ?::date`, given.to, given.to?.toISOString().slice(0, 10)],
    ['(day, id) < (?::date, ?::bigint)', ...(given.after ?? [])],
  ])
  const { rows } = await database.query<LedgerRecord & Record<string, unknown>>(
    `select day, id, account_id as "accountId", wallet, task_id as "taskId", movement, book,
            amount_micros as "amountMicros", created_at as "createdAt"
       from ledger_entries ${where} order by day desc, id desc limit $${values.length + 1}`,
    [...values, given.limit],
  )
  return rows
}
