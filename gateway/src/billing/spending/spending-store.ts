import type { Database } from '../../platform/postgres.ts'
import type { HeldSince, Instant } from '../ledger/ledger-store.ts'
import type { Wallet } from '../money/money.ts'
import type { Period } from '../money/period.ts'

/** The spending limits of a wallet, without those of the key. */
export interface WalletPower {
  accountId: string
  wallet: Wallet
  /** False for a wallet that was never funded: it has no row to lock. */
  hasRow: boolean
  availableMicros: number
  /** Spending of the month that began on `spentSince`. */
  spentMicros: number
  spentSince: string
  spendCapMicros: number | null
  subscriptionEndsAt: Date | null
  subscriptionCycleEndsAt: Date | null
  /** The quota of the next cycle; null without a plan. */
  cycleQuotaMicros: number | null
  hasPaymentFailed: boolean
}

/**
 * Reads the given wallets, and all other wallets of accounts with a spend cap, which counts them together. A wallet that
 * was never funded has no row and is returned as empty. With `isLocked`, reads all wallets of the accounts and locks
 * them until the transaction ends, which serializes the holds of an account. The lock order is fixed.
 */
export const readWallets = async (
  database: Database,
  wallets: { accountId: string; wallet: Wallet }[],
  { isLocked }: { isLocked: boolean },
): Promise<WalletPower[]> => {
  const { rows } = await database.query<WalletPower & Record<string, unknown>>(
    `with wanted as (
       select * from unnest($1::uuid[], $2::text[]) as given (account_id, wallet)
     ), present as materialized (
       select b.* from accounts a join balances b on b.account_id = a.id
         left join account_budgets g on g.account_id = a.id
        where a.id = any($1::uuid[])
          and ($3 or least(a.spend_cap_micros, g.spend_cap_micros) is not null
               or (b.account_id, b.wallet) in (select account_id, wallet from wanted))
        order by b.account_id, b.wallet${isLocked ? ' for update of b' : ''}
     )
     select w.account_id as "accountId", w.wallet, b.wallet is not null as "hasRow",
            coalesce(b.available_micros, 0) as "availableMicros",
            coalesce(b.spent_micros, 0) as "spentMicros", coalesce(b.spent_since, 'epoch') as "spentSince",
            least(a.spend_cap_micros, g.spend_cap_micros) as "spendCapMicros",
            s.ends_at as "subscriptionEndsAt", s.cycle_ends_at as "subscriptionCycleEndsAt",
            p.cycle_quota_micros as "cycleQuotaMicros", a.payment_state = 'failed' as "hasPaymentFailed"
       from (select account_id, wallet from wanted union select account_id, wallet from present) w
       left join present b on b.account_id = w.account_id and b.wallet = w.wallet
       join accounts a on a.id = w.account_id
       left join account_budgets g on g.account_id = a.id
       left join subscriptions s on s.account_id = a.id
       left join plans p on p.id = s.plan_id
      order by w.account_id, w.wallet`,
    [wallets.map(({ accountId }) => accountId), wallets.map(({ wallet }) => wallet), isLocked],
  )
  return rows
}

/** Serializes the holds of accounts without a wallet, which can only be zero. */
export const lockWithoutWallet = async (database: Database, accountIds: string[]): Promise<void> => {
  if (accountIds.length === 0) return
  await database.query(
    `select pg_advisory_xact_lock(hashtextextended('kinora:holds:' || id, 0)) from unnest($1::text[]) as id`,
    [accountIds.toSorted()],
  )
}

export interface Budget {
  period: Period
  limitMicros: number
  usedMicros: number
  /** Start of the period of the last hold. */
  startedAtMs: number
}

export interface KeyLimits {
  quota: { limitMicros: number; usedMicros: number } | undefined
  budgets: Budget[]
}

/**
 * The limits of keys, and the database's time. Limits change only under the wallet locks of their account, so they are
 * current for a caller that holds those.
 */
export const readKeyLimits = async (
  database: Database,
  keyIds: string[],
): Promise<{ at: Instant; nowMs: number; limits: Map<string, KeyLimits> }> => {
  type Row = {
    keyId: string
    at: Instant
    nowMs: number
    quotaMicros: number | null
    usedMicros: number | null
    budgets: Budget[]
  }
  const { rows } = await database.query<Row>(
    `select k.id as "keyId", clock.at::text as at, extract(epoch from clock.at) * 1000 as "nowMs",
            q.quota_micros as "quotaMicros", q.used_micros as "usedMicros",
            (select coalesce(jsonb_agg(jsonb_build_object(
                      'period', b.period, 'limitMicros', b.limit_micros, 'usedMicros', b.used_micros,
                      'startedAtMs', extract(epoch from b.period_started_at) * 1000)), '[]')
               from key_budgets b where b.key_id = k.id) as budgets
       from (select clock_timestamp() as at offset 0) clock, unnest($1::uuid[]) as k (id)
       left join key_quotas q on q.key_id = k.id`,
    [keyIds],
  )
  const [first] = rows
  if (first === undefined) throw new Error('readKeyLimits needs at least one key')
  const limits = rows.map(({ keyId, quotaMicros, usedMicros, budgets }): [string, KeyLimits] => [
    keyId,
    {
      quota:
        quotaMicros === null || usedMicros === null ? undefined : { limitMicros: quotaMicros, usedMicros },
      budgets,
    },
  ])
  return { at: first.at, nowMs: first.nowMs, limits: new Map(limits) }
}

/**
 * Locks the wallets of holds that are about to end, in a fixed order. Returns the time of each hold, and the holds from
 * earlier subscription cycles.
 */
export const lockHolds = async (
  database: Database,
  holds: { accountId: string; wallet: Wallet; day: string; taskId: string }[],
): Promise<{ heldSince: HeldSince; ofEarlierCycles: Set<string> }> => {
  const { rows } = await database.query<{
    taskId: string
    since: Instant | null
    isOfEarlierCycle: boolean | null
  }>(
    `select hold.task_id as "taskId", l.created_at::text as since, l.created_at < b.opened_at as "isOfEarlierCycle"
       from unnest($1::uuid[], $2::text[], $3::date[], $4::text[]) as hold (account_id, wallet, day, task_id)
       join balances b on b.account_id = hold.account_id and b.wallet = hold.wallet
       left join ledger_entries l
         on l.day = hold.day and l.task_id = hold.task_id and l.movement = 'hold' and l.book = 'held'
      order by b.account_id, b.wallet for update of b`,
    [
      holds.map(({ accountId }) => accountId),
      holds.map(({ wallet }) => wallet),
      holds.map(({ day }) => day),
      holds.map(({ taskId }) => taskId),
    ],
  )
  return {
    heldSince: new Map(rows.flatMap(({ taskId, since }) => (since === null ? [] : [[taskId, since]]))),
    ofEarlierCycles: new Set(
      rows.flatMap(({ taskId, isOfEarlierCycle }) => (isOfEarlierCycle === true ? taskId : [])),
    ),
  }
}

/** Sets the quota and the budgets of a key. Limits that already exist keep their used amount. */
export const setKeyLimits = async (
  database: Database,
  keyId: string,
  limits: {
    quotaMicros?: number | null | undefined
    budgets?: { period: Period; limitMicros: number }[] | undefined
  },
): Promise<void> => {
  const { quotaMicros, budgets } = limits
  if (quotaMicros === null) await database.query('delete from key_quotas where key_id = $1', [keyId])
  else if (quotaMicros !== undefined) {
    await database.query(
      `insert into key_quotas (key_id, quota_micros) values ($1, $2)
       on conflict (key_id) do update set quota_micros = excluded.quota_micros`,
      [keyId, quotaMicros],
    )
  }
  if (budgets === undefined) return
  await database.query('delete from key_budgets where key_id = $1 and period <> all($2::text[])', [
    keyId,
    budgets.map(({ period }) => period),
  ])
  await database.query(
    `insert into key_budgets (key_id, period, limit_micros)
     select $1, period, limit_micros from unnest($2::text[], $3::bigint[]) as b (period, limit_micros)
     on conflict (key_id, period) do update set limit_micros = excluded.limit_micros`,
    [keyId, budgets.map(({ period }) => period), budgets.map(({ limitMicros }) => limitMicros)],
  )
}
