import type { Database } from '../../platform/postgres.ts'
import { recordAlerts } from '../budgets/record-alerts.ts'
import { legsOf, type Movement, type Wallet } from '../money/money.ts'
import { countMovements } from './count-movements.ts'
import { insertRequestsSql, type NewMeteredRequest } from './metered-request-store.ts'

/** A timestamp in the text format of PostgreSQL: a Date would drop the microseconds that order entries. */
export type Instant = string

/** A change of the used amounts of a key and an account. `at` is the time of the hold, also for its release and refund. */
interface UsageChange {
  accountId: string
  wallet: Wallet
  keyId: string
  at: Instant
  amountMicros: number
}

/** The times of the holds that are released or refunded, by the id of the movement's task. */
export type HeldSince = Map<string, Instant>

const usageChangesOf = (
  movements: Movement[],
  at: Instant | undefined,
  heldSince: HeldSince,
): UsageChange[] =>
  movements.flatMap(({ kind, accountId, wallet, taskId, keyId, amountMicros }) => {
    if (keyId === undefined || !['hold', 'release', 'refund'].includes(kind)) return []
    if (kind === 'hold') return { accountId, wallet, keyId, at: at ?? 'now', amountMicros }
    const since = heldSince.get(taskId ?? '')
    return since === undefined ? [] : { accountId, wallet, keyId, at: since, amountMicros: -amountMicros }
  })

/**
 * Writes movements in one statement: entries into the ledger, their sums into the balances, and the used amounts of
 * quotas, budgets, and monthly spending. Accounts with alerts are told when these amounts cross them. Only this function
 * and `holdForRequests` change balances. A repeated movement violates a unique index and a negative balance violates a
 * check; both roll back the caller's transaction. A used amount never goes below zero, because it must not keep a task
 * from ending. Callers that hold or release have locked the wallets before.
 */
export const postMovements = async (
  database: Database,
  movements: Movement[],
  { at, heldSince = new Map() }: { at?: Instant; heldSince?: HeldSince } = {},
): Promise<void> => {
  if (movements.length === 0) return
  const { rows } = await database.query<{ accountId: string }>(
    `with legs as (
       select * from jsonb_to_recordset($1::jsonb) as leg
         (day date, "accountId" uuid, wallet text, "taskId" text, "keyId" uuid, movement text, book text,
          "amountMicros" bigint)
     ), written as (
       insert into ledger_entries (day, account_id, wallet, task_id, key_id, movement, book, amount_micros, created_at)
       select day, "accountId", wallet, "taskId", "keyId", movement, book, "amountMicros",
              coalesce($3::timestamptz, clock_timestamp())
         from legs
     ), counted as materialized (
       select * from jsonb_to_recordset($2::jsonb) as c
         ("accountId" uuid, wallet text, "keyId" uuid, at timestamptz, "amountMicros" bigint)
     ), in_quotas as (
       update key_quotas q set used_micros = greatest(0, q.used_micros + c.amount)
         from (select q.key_id, sum(c."amountMicros") as amount
                 from counted c join key_quotas q on q.key_id = c."keyId" and q.counted_from <= c.at
                group by q.key_id) c
        where q.key_id = c.key_id
     ), in_budgets as (
       update key_budgets b
          set period_started_at = c.starts_at,
              used_micros = greatest(0, case when b.period_started_at = c.starts_at then b.used_micros else 0 end
                                        + c.amount)
         from (select key_id, period, starts_at,
                      coalesce(sum(amount) filter (where held_in = starts_at), 0) as amount
                 from (select b.key_id, b.period, c."amountMicros" as amount,
                              date_trunc(b.period, c.at, 'UTC') as held_in,
                              greatest(b.period_started_at, max(date_trunc(b.period, c.at, 'UTC'))
                                       filter (where c."amountMicros" > 0) over (partition by b.key_id, b.period)
                                      ) as starts_at
                         from counted c
                         join key_budgets b on b.key_id = c."keyId" and b.counted_from <= c.at) each
                group by key_id, period, starts_at) c
        where b.key_id = c.key_id and b.period = c.period
     ), moved as (
     update balances b
        set available_micros = b.available_micros + change.available, held_micros = b.held_micros + change.held,
            spent_since = coalesce(spending.starts_on, b.spent_since),
            spent_micros = greatest(0, case when b.spent_since < spending.starts_on then 0 else b.spent_micros end
                                       + coalesce(spending.amount, 0))
       from (select "accountId", wallet,
                    coalesce(sum("amountMicros") filter (where book = 'available'), 0) as available,
                    coalesce(sum("amountMicros") filter (where book = 'held'), 0) as held
               from legs group by "accountId", wallet) change
       left join (select account_id, wallet, starts_on,
                         coalesce(sum(amount) filter (where held_in = starts_on), 0) as amount
                    from (select b.account_id, b.wallet, c."amountMicros" as amount,
                                 date_trunc('month', c.at at time zone 'utc')::date as held_in,
                                 greatest(b.spent_since, max(date_trunc('month', c.at at time zone 'utc')::date)
                                          filter (where c."amountMicros" > 0) over (partition by b.account_id, b.wallet)
                                         ) as starts_on
                            from counted c
                            join balances b on b.account_id = c."accountId" and b.wallet = c.wallet) each
                   group by account_id, wallet, starts_on) spending
         on spending.account_id = change."accountId" and spending.wallet = change.wallet
      where b.account_id = change."accountId" and b.wallet = change.wallet
      returning b.account_id
     )
     select distinct g.account_id as "accountId" from moved join account_budgets g on g.account_id = moved.account_id
      where g.balance_alert_micros is not null or g.spend_alerts_micros <> '{}'`,
    [
      JSON.stringify(movements.flatMap(legsOf)),
      JSON.stringify(usageChangesOf(movements, at, heldSince)),
      at ?? null,
    ],
  )
  if (rows.length > 0) {
    await recordAlerts(
      database,
      rows.map(({ accountId }) => accountId),
    )
  }
  countMovements(database, movements)
}

/**
 * Places the holds of requests and inserts the requests, in a single statement, because it delays the first byte of a
 * response. Returns the accounts whose holds were placed. Nothing changes for an account whose wallet does not cover all of
 * them, or to which a key limit, a spend cap or an alert applies. Like every hold of a metered request, it commits asynchronously. The
 * wallets are locked in a fixed order, so that concurrent calls do not deadlock.
 */
export const holdForRequests = async (
  database: Database,
  wallet: Wallet,
  requests: NewMeteredRequest[],
  { leaseSeconds, lockTimeoutMs }: { leaseSeconds: number; lockTimeoutMs: number },
): Promise<Set<string>> => {
  const holds = requests.map(({ id, day, accountId, holdMicros, keyId }): Movement => ({
    ...{ kind: 'hold', accountId, wallet, taskId: id, day, amountMicros: holdMicros, keyId },
  }))
  const legs = holds.flatMap(legsOf)
  const { rows } = await database.query<{ accountId: string }>(
    `with quick as materialized (
       select set_config('synchronous_commit', 'off', true) as mode, set_config('lock_timeout', $5, true)
     ), given as materialized (
       select "accountId" as account_id, sum("holdMicros")::bigint as amount, array_agg("keyId") as key_ids
         from jsonb_to_recordset($3::jsonb) as request ("accountId" uuid, "keyId" uuid, "holdMicros" bigint)
        group by "accountId"
     ), locked as materialized (
       select b.account_id from quick, balances b
        where quick.mode = 'off' and b.account_id in (select account_id from given) and b.wallet = $1
        order by b.account_id for update of b
     ), held as (
       update balances b
          set available_micros = available_micros - g.amount, held_micros = held_micros + g.amount,
              spent_micros = g.amount
                + case when spent_since < date_trunc('month', clock_timestamp() at time zone 'utc')::date
                       then 0 else spent_micros end,
              spent_since = greatest(spent_since, date_trunc('month', clock_timestamp() at time zone 'utc')::date)
         from given g join locked on locked.account_id = g.account_id
        where b.account_id = g.account_id and b.wallet = $1 and b.available_micros >= g.amount
          and not exists (select from accounts a where a.id = g.account_id and a.spend_cap_micros is not null)
          and not exists (select from account_budgets own where own.account_id = g.account_id)
          and not exists (select from key_quotas where key_id = any (g.key_ids))
          and not exists (select from key_budgets where key_id = any (g.key_ids))
       returning b.account_id, clock_timestamp() as at
     ), written as (
       insert into ledger_entries (day, account_id, wallet, task_id, key_id, movement, book, amount_micros, created_at)
       select leg.day, held.account_id, $1, leg."taskId", leg."keyId", leg.movement, leg.book, leg."amountMicros", held.at
         from jsonb_to_recordset($2::jsonb) as leg
           (day date, "accountId" uuid, "taskId" text, "keyId" uuid, movement text, book text, "amountMicros" bigint)
         join held on held.account_id = leg."accountId"
     ), opened as (
       ${insertRequestsSql('$3', '$4')} where "accountId" in (select account_id from held)
     )
     select account_id as "accountId" from held`,
    [wallet, JSON.stringify(legs), JSON.stringify(requests), leaseSeconds, String(lockTimeoutMs)],
  )
  const held = new Set(rows.map(({ accountId }) => accountId))
  countMovements(
    database,
    holds.filter(({ accountId }) => held.has(accountId)),
  )
  return held
}

/** Creates the wallet unless it exists. */
export const openWallet = async (database: Database, accountId: string, wallet: Wallet): Promise<void> => {
  await database.query(
    'insert into balances (account_id, wallet) select id, $2 from accounts where id = $1 on conflict do nothing',
    [accountId, wallet],
  )
}

export interface WalletState {
  availableMicros: number
  heldMicros: number
}

/**
 * Locks a wallet until the transaction ends. Undefined if the account has no such wallet or, without `waits`, another
 * transaction holds the lock.
 */
export const lockWallet = async (
  database: Database,
  accountId: string,
  wallet: Wallet,
  { waits = true }: { waits?: boolean } = {},
): Promise<WalletState | undefined> => {
  const { rows } = await database.query<WalletState & Record<string, unknown>>(
    `select available_micros as "availableMicros", held_micros as "heldMicros" from balances
      where account_id = $1 and wallet = $2 for update${waits ? '' : ' skip locked'}`,
    [accountId, wallet],
  )
  return rows[0]
}

/** Starts a cycle in a locked wallet: releases of earlier holds no longer return to it. */
export const beginCycle = async (database: Database, accountId: string): Promise<void> => {
  await database.query(
    `update balances set opened_at = clock_timestamp() where account_id = $1 and wallet = 'subscription'`,
    [accountId],
  )
}

export const upsertSubscription = async (
  database: Database,
  subscription: { accountId: string; cycleEndsAt: Date; endsAt: Date },
): Promise<void> => {
  await database.query(
    `insert into subscriptions (account_id, cycle_started_at, cycle_ends_at, ends_at) values ($1, now(), $2, $3)
     on conflict (account_id) do update set cycle_ends_at = excluded.cycle_ends_at, ends_at = excluded.ends_at`,
    [subscription.accountId, subscription.cycleEndsAt, subscription.endsAt],
  )
}
