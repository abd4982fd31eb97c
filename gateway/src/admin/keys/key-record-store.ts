import type { KeyScope } from '@kinora/contract/key-scope'
import type { LimitGroup } from '@kinora/contract/operation'
import type { OperatorRole } from '@kinora/contract/operator-key'

import type { KeyKind } from '../../auth/key-text.ts'
import type { Period } from '../../billing/money/period.ts'
import type { Database } from '../../platform/postgres.ts'
import { filter, microsecondsOf, timeOf } from '../filter.ts'

/** The settings of a key, without its spending limits. */
export interface KeySettings {
  name: string
  /** Null for a key of an account. */
  role: OperatorRole | null
  /** Without effect for an operator's key. */
  scopes: KeyScope[]
  models: string[] | null
  addresses: string[] | null
  expiresAt: Date | null
  isDisabled: boolean
  requestsPerMinute: number | null
  limits: Partial<Record<LimitGroup, number>>
  concurrency: number | null
  dialect: 'reference' | 'openai'
}

export interface KeyBudget {
  period: Period
  limitMicros: number
}

/** How much of a budget is used in its current period. */
interface BudgetUsage {
  period: Period
  usedMicros: number
  /** Unix time in seconds. */
  resetsAt: number
}

/** A key as shown to operators, with only the hint of its secret. */
export interface KeyRecord extends KeySettings {
  id: string
  accountId: string | null
  accountName: string | null
  kind: KeyKind
  hint: string
  quotaMicros: number | null
  usedMicros: number
  budgets: KeyBudget[]
  budgetUsage: BudgetUsage[]
  lastUsedAt: Date | null
  createdAt: Date
  createdMicroseconds: number
  /** When the secret before the last rotation expires; null if it has, or there is none. */
  previousExpiresAt: Date | null
}

const keysWhere = (where: string) =>
  `select k.id, k.account_id as "accountId", (select name from accounts where id = k.account_id) as "accountName", k.kind, k.role, k.name, k.hint, k.scopes, k.models, k.addresses,
          k.expires_at as "expiresAt", k.disabled_at is not null as "isDisabled",
          k.requests_per_minute as "requestsPerMinute", k.limits, k.concurrency, k.dialect,
          q.quota_micros as "quotaMicros", coalesce(q.used_micros, 0) as "usedMicros", b.budgets, b."budgetUsage",
          k.last_used_at as "lastUsedAt", case when k.previous_expires_at > now() then least(k.previous_expires_at, k.expires_at) end as "previousExpiresAt", k.created_at as "createdAt",
          ${microsecondsOf('k.created_at')} as "createdMicroseconds"
     from keys k
     left join key_quotas q on q.key_id = k.id
    cross join lateral (
      select coalesce(jsonb_agg(jsonb_build_object('period', period, 'limitMicros', limit_micros)
                                order by array_position(array['hour', 'day', 'week', 'month'], period)), '[]') as budgets,
             coalesce(jsonb_agg(jsonb_build_object('period', period,
                                  'usedMicros', case when period_started_at >= current_start then used_micros else 0 end,
                                  'resetsAt', extract(epoch from date_trunc(period, current_start + ('1 ' || period)::interval, 'utc'))::bigint)
                                order by array_position(array['hour', 'day', 'week', 'month'], period)), '[]') as "budgetUsage"
        from key_budgets, date_trunc(period, now(), 'utc') current_start where key_id = k.id) b
    ${where}`

export const findKeyRecord = async (database: Database, id: string): Promise<KeyRecord | undefined> => {
  const { rows } = await database.query<KeyRecord & Record<string, unknown>>(
    keysWhere('where k.id = $1 and k.deleted_at is null'),
    [id],
  )
  return rows[0]
}

/** Reads a key and locks it until the transaction ends. */
export const lockKeyRecord = async (database: Database, id: string): Promise<KeyRecord | undefined> => {
  await database.query('select from keys where id = $1 for no key update', [id])
  return findKeyRecord(database, id)
}

export const listKeyRecords = async (
  database: Database,
  given: {
    accountId: string | undefined
    kind: string | undefined
    after: string[] | undefined
    limit: number
  },
): Promise<KeyRecord[]> => {
  const { where, values } = filter([
    ['k.deleted_at is null', true],
    ['k.account_id = ?', given.accountId],
    ['k.kind = ?', given.kind],
    [`(k.created_at, k.id) < (${timeOf('?')}, ?::uuid)`, ...(given.after ?? [])],
  ])
  const { rows } = await database.query<KeyRecord & Record<string, unknown>>(
    `${keysWhere(where)} order by k.created_at desc, k.id desc limit $${values.length + 1}`,
    [...values, given.limit],
  )
  return rows
}

const valuesOf = (id: string, key: KeySettings) => [
  id,
  key.name,
  key.models,
  key.addresses,
  key.expiresAt,
  key.isDisabled,
  key.requestsPerMinute,
  JSON.stringify(key.limits),
  key.concurrency,
  key.dialect,
  key.role,
  key.scopes,
]

/** Whether a time has passed, by the clock that keys expire by. */
export const hasPassed = async (database: Database, at: Date): Promise<boolean> => {
  const { rows } = await database.query<{ hasPassed: boolean }>(
    'select $1::timestamptz <= now() as "hasPassed"',
    [at],
  )
  return rows[0]?.hasPassed === true
}

export const addKey = async (
  database: Database,
  {
    id,
    accountId,
    kind,
    hash,
    hint,
  }: Pick<KeyRecord, 'id' | 'accountId' | 'kind' | 'hint'> & { hash: Buffer },
  settings: KeySettings,
): Promise<void> => {
  await database.query(
    `insert into keys (id, name, models, addresses, expires_at, disabled_at, requests_per_minute, limits, concurrency,
                       dialect, role, scopes, account_id, kind, hash, hint)
     values ($1, $2, $3, $4, $5, case when $6::boolean then now() end, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`,
    [...valuesOf(id, settings), accountId, kind, hash, hint],
  )
}

/** Updates the row even without a difference, because the trigger makes every process reload the key. */
export const changeKey = async (database: Database, id: string, settings: KeySettings): Promise<void> => {
  await database.query(
    `update keys set name = $2, models = $3, addresses = $4, expires_at = $5,
                     disabled_at = case when $6::boolean then coalesce(disabled_at, now()) end,
                     requests_per_minute = $7, limits = $8, concurrency = $9, dialect = $10, role = $11,
                     scopes = $12
      where id = $1`,
    valuesOf(id, settings),
  )
}

/** Replaces the secret of a key. The previous one remains valid for the overlap, and no earlier one does. */
export const changeSecret = async (
  database: Database,
  id: string,
  { hash, hint, overlapSeconds }: { hash: Buffer; hint: string; overlapSeconds: number },
): Promise<void> => {
  await database.query(
    `update keys set hash = $2, hint = $3, previous_hash = case when $4::integer > 0 then hash end,
            previous_expires_at = case when $4::integer > 0 then now() + make_interval(secs => $4::integer) end
      where id = $1`,
    [id, hash, hint, overlapSeconds],
  )
}

/** The number of an account's keys. */
export const countKeys = async (database: Database, accountId: string): Promise<number> => {
  const { rows } = await database.query<{ count: number }>(
    'select count(*) from keys where account_id = $1 and deleted_at is null',
    [accountId],
  )
  return rows[0]?.count ?? 0
}

/** Whether any operator key with the role `admin` works. */
export const isAnyAdminLeft = async (database: Database): Promise<boolean> => {
  const { rows } = await database.query<{ isLeft: boolean }>(
    `select exists (select from keys where role = 'admin' and deleted_at is null and disabled_at is null
                       and not is_old_secret and (expires_at is null or expires_at > now())) as "isLeft"`,
  )
  return rows[0]?.isLeft === true
}
