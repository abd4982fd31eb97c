import type { Database } from '../../platform/postgres.ts'
import { filter, microsecondsOf, timeOf } from '../filter.ts'

export interface AccountSettings {
  name: string
  status: 'active' | 'suspended'
  paymentState: 'ok' | 'failed'
  spendCapMicros: number | null
  concurrency: number | null
  mediaRetentionDays: number | null
  taskRetentionDays: number | null
}

export interface AccountRecord extends AccountSettings {
  id: string
  createdAt: Date
  erasedAt: Date | null
  createdMicroseconds: number
  balances: { wallet: 'payg' | 'subscription'; available_micros: number; held_micros: number }[]
  planId: string | null
  cycleQuotaMicros: number
  cycleStartedAt: Date | null
  cycleEndsAt: Date | null
  endsAt: Date | null
}

const accountsWhere = (where: string) =>
  `select a.id, a.name, a.status, a.payment_state as "paymentState", a.spend_cap_micros as "spendCapMicros",
          a.concurrency, a.media_retention_days as "mediaRetentionDays",
          a.task_retention_days as "taskRetentionDays", a.created_at as "createdAt", a.erased_at as "erasedAt",
          ${microsecondsOf('a.created_at')} as "createdMicroseconds", b.balances,
          s.plan_id as "planId", coalesce(p.cycle_quota_micros, 0) as "cycleQuotaMicros",
          s.cycle_started_at as "cycleStartedAt", s.cycle_ends_at as "cycleEndsAt", s.ends_at as "endsAt"
     from accounts a
     left join subscriptions s on s.account_id = a.id
     left join plans p on p.id = s.plan_id
    cross join lateral (
      select coalesce(jsonb_agg(jsonb_build_object('wallet', wallet, 'available_micros', available_micros,
                                                   'held_micros', held_micros) order by wallet), '[]') as balances
        from balances where account_id = a.id) b
    ${where}`

export const findAccount = async (database: Database, id: string): Promise<AccountRecord | undefined> => {
  const { rows } = await database.query<AccountRecord & Record<string, unknown>>(
    accountsWhere('where a.id = $1'),
    [id],
  )
  return rows[0]
}

/** The names of an account and of one of its keys, deleted or not. */
export const findNames = async (
  database: Database,
  { accountId, keyId }: { accountId: string; keyId: string },
): Promise<{ account_name: string; key_name: string }> => {
  const { rows } = await database.query<{ account_name: string; key_name: string }>(
    `select (select name from accounts where id = $1) as account_name, (select name from keys where id = $2) as key_name`,
    [accountId, keyId],
  )
  return rows[0] ?? { account_name: '', key_name: '' }
}

/** Reads an account and locks it until the transaction ends. */
export const lockAccount = async (database: Database, id: string): Promise<AccountRecord | undefined> => {
  await database.query('select from accounts where id = $1 for no key update', [id])
  return findAccount(database, id)
}

export const listAccountRecords = async (
  database: Database,
  given: { name: string | undefined; status: string | undefined; after: string[] | undefined; limit: number },
): Promise<AccountRecord[]> => {
  const { where, values } = filter([
    // A plain text comparison, so that no character of the search term acts as a wildcard.
    ['position(lower(?) in lower(a.name)) > 0', given.name],
    ['a.status = ?', given.status],
    [`(a.created_at, a.id) < (${timeOf('?')}, ?::uuid)`, ...(given.after ?? [])],
  ])
  const { rows } = await database.query<AccountRecord & Record<string, unknown>>(
    `${accountsWhere(where)} order by a.created_at desc, a.id desc limit $${values.length + 1}`,
    [...values, given.limit],
  )
  return rows
}

const valuesOf = (id: string, account: AccountSettings) => [
  id,
  account.name,
  account.status,
  account.paymentState,
  account.spendCapMicros,
  account.concurrency,
  account.mediaRetentionDays,
  account.taskRetentionDays,
]

export const addAccount = async (database: Database, id: string, account: AccountSettings): Promise<void> => {
  await database.query(
    `insert into accounts (id, name, status, payment_state, spend_cap_micros, concurrency, media_retention_days,
                           task_retention_days)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    valuesOf(id, account),
  )
}

export const changeAccount = async (
  database: Database,
  id: string,
  account: AccountSettings,
): Promise<void> => {
  await database.query(
    `update accounts set name = $2, status = $3, payment_state = $4, spend_cap_micros = $5, concurrency = $6,
                         media_retention_days = $7, task_retention_days = $8
      where id = $1`,
    valuesOf(id, account),
  )
}
