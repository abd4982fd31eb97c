import type { AccountMovement } from '../../billing/ledger/movement-store.ts'
import type { Database } from '../../platform/postgres.ts'
import { filter, microsecondsOf, timeOf } from '../filter.ts'

export interface ListedMovement extends AccountMovement {
  accountName: string
  /** The task or request of a refund. */
  taskId: string | null
  createdMicroseconds: number
}

/** The movements of one account, newest first. */
export const listMovementRecords = async (
  database: Database,
  given: { accountId: string; after: string[] | undefined; limit: number },
): Promise<ListedMovement[]> => {
  const { where, values } = filter([
    ['m.account_id = ?', given.accountId],
    [`(m.created_at, m.id) < (${timeOf('?')}, ?)`, ...(given.after ?? [])],
  ])
  const { rows } = await database.query<ListedMovement & Record<string, unknown>>(
    `select m.id, m.account_id as "accountId", a.name as "accountName", m.wallet, m.kind,
            m.amount_micros as "amountMicros", r.task_id as "taskId", m.actor, m.reason, m.reference,
            m.created_at as "createdAt", ${microsecondsOf('m.created_at')} as "createdMicroseconds"
       from account_movements m
       join accounts a on a.id = m.account_id
       left join refunds r on r.id = m.id
       ${where} order by m.created_at desc, m.id desc limit $${values.length + 1}`,
    [...values, given.limit],
  )
  return rows
}

export interface LedgerRecord {
  day: string
  id: number
  accountId: string
  accountName: string
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
    [
      '(day, task_id) in (select ?::date, ?::text union all select day, id from refunds where task_id = ?)',
      ...[given.task?.day, given.task?.id, given.task?.id],
    ],
    ['movement = ?', given.movement],
    ['created_at >= ?', given.from],
    [`created_at < ? and day <= ?::date`, given.to, given.to?.toISOString().slice(0, 10)],
    ['(day, id) < (?::date, ?::bigint)', ...(given.after ?? [])],
  ])
  const { rows } = await database.query<LedgerRecord & Record<string, unknown>>(
    `select day, id, account_id as "accountId",
            (select name from accounts a where a.id = ledger_entries.account_id) as "accountName", wallet, task_id as "taskId", movement, book,
            amount_micros as "amountMicros", created_at as "createdAt"
       from ledger_entries ${where} order by day desc, id desc limit $${values.length + 1}`,
    [...values, given.limit],
  )
  return rows
}
