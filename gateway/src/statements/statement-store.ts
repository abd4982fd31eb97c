import { ApiError } from '@kinora/contract/errors'

import { StatementTimeout } from '../platform/postgres-errors.ts'
import type { Database, Postgres } from '../platform/postgres.ts'

/** Summing up a busy year takes a while; a longer query would only block a connection. */
const statementTimeoutMs = 15_000

/**
 * Reads in one snapshot. The locks keep an archive from removing partitions after the snapshot was taken; they let
 * everything else through.
 */
export const readInSnapshot = <Result>(
  postgres: Postgres,
  read: (database: Database) => Promise<Result>,
): Promise<Result> =>
  postgres
    .transaction(
      async (database) => {
        await database.query('set transaction isolation level repeatable read read only')
        await database.query('lock table ledger_entries, usage_entries in access share mode')
        return read(database)
      },
      { statementTimeoutMs },
    )
    .catch((error: unknown) => {
      if (!(error instanceof StatementTimeout)) throw error
      throw new ApiError('service_unavailable', {
        message: 'The statement takes too long to sum up. Try again later, or ask the operator.',
        cause: error,
      })
    })

/** What the months of an account's statements depend on, by the clock of the database. */
export interface StatementAccount {
  name: string
  now: Date
  /** The first days of the first month that has a statement and of the current month. */
  firstMonth: string
  currentMonth: string
}

/** The month of the account's creation, or the first one that is not in an archive without sums. */
const firstMonth = `greatest(
  date_trunc('month', a.created_at at time zone 'utc')::date,
  (select max(before) from ledger_archives where not has_statement_sums))`

export const findStatementAccount = async (
  database: Database,
  accountId: string,
): Promise<StatementAccount | undefined> => {
  const { rows } = await database.query<StatementAccount & Record<string, unknown>>(
    `select a.name, now() as now, ${firstMonth} as "firstMonth",
            date_trunc('month', now() at time zone 'utc')::date as "currentMonth"
       from accounts a where a.id = $1`,
    [accountId],
  )
  return rows[0]
}

export interface WalletBalance {
  wallet: string
  availableMicros: number
  heldMicros: number
}

export const listWalletBalances = async (database: Database, accountId: string): Promise<WalletBalance[]> => {
  const { rows } = await database.query<WalletBalance & Record<string, unknown>>(
    `select wallet, available_micros as "availableMicros", held_micros as "heldMicros"
       from balances where account_id = $1 order by wallet`,
    [accountId],
  )
  return rows
}

/**
 * The first days of the months in which money moved, newest first. An entry has the day on which its task was created, so
 * tasks that ended in a later month are found by their usage entries.
 */
export const listActiveMonths = async (database: Database, accountId: string): Promise<string[]> => {
  const { rows } = await database.query<{ month: string }>(
    `select m.month::date as month
       from accounts a
      cross join lateral generate_series(
        (${firstMonth})::timestamp, date_trunc('month', now() at time zone 'utc'), interval '1 month') as m (month)
      where a.id = $1
        and (exists (select from ledger_entries e
                      where e.account_id = $1 and e.day >= m.month::date - 2 and e.day < (m.month + interval '1 month')::date
                        and e.created_at >= m.month at time zone 'utc'
                        and e.created_at < (m.month + interval '1 month') at time zone 'utc')
          or exists (select from usage_entries u
                      where u.account_id = $1 and u.ended_at >= m.month at time zone 'utc'
                        and u.ended_at < (m.month + interval '1 month') at time zone 'utc')
          or exists (select from statement_sums s where s.account_id = $1 and s.month = m.month::date))
      order by m.month desc`,
    [accountId],
  )
  return rows.map(({ month }) => month)
}
