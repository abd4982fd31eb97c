import type { Database } from '../../platform/postgres.ts'
import { legsOf, type Movement, type Wallet } from '../money/money.ts'
import { insertOfRequests, type NewMeteredRequest } from './metered-request-store.ts'

/** Text of a time as the database wrote it: a Date would cut it to milliseconds, and order is told by what is below. */
export type Instant = string

/** What counts against the limits of a key and an account, when it was held: a release gives back what it can. */
interface Counted {
  accountId: string
  wallet: Wallet
  keyId: string
  at: Instant
  amountMicros: number
}

/** When the holds that are released were placed, by task. */
export type HeldSince = Map<string, Instant>

const countedOf = (movements: Movement[], at: Instant | undefined, heldSince: HeldSince): Counted[] =>
  movements.flatMap(({ kind, accountId, wallet, taskId, keyId, amountMicros }) => {
    if (keyId === undefined || (kind !== 'hold' && kind !== 'release')) return []
    if (kind === 'hold') return { accountId, wallet, keyId, at: at ?? 'now', amountMicros }
    const since = heldSince.get(taskId ?? '')
    return since === undefined ? [] : { accountId, wallet, keyId, at: since, amountMicros: -amountMicros }
  })

/**
 * Writes movements: their legs into the ledger, their sums into the balances, and what they use of limits into the
 * counts of those, in one statement. This is the only place that changes a balance. A movement that was made before
 * breaks a unique index, a balance that would go below zero breaks a check; both undo the caller's whole transaction.
 * A count that would go below zero stays there: it is no reason for a task not to end. Whoever holds or releases has
 * locked the wallets before.
 */
export const postMovements = async (
  database: Database,
  movements: Movement[],
  { at, heldSince = new Map() }: { at?: Instant; heldSince?: HeldSince } = {},
): Promise<void> => {
  if (movements.length === 0) return
  await database.query(
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
     )
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
      where b.account_id = change."accountId" and b.wallet = change.wallet`,
    [
      JSON.stringify(movements.flatMap(legsOf)),
      JSON.stringify(countedOf(movements, at, heldSince)),
      at ?? null,
    ],
  )
}

/**
 * Holds money of one wallet for these requests and writes them down, in a single statement: the first byte of a speech
 * waits for it. False where the wallet does not cover all of them, or where there is more to look at than the wallet:
 * a limit of a key or a cap of the account; then nothing has happened. Like any hold of a request it does not wait for
 * the disk.
 */
export const holdForRequests = async (
  database: Database,
  { accountId, wallet }: { accountId: string; wallet: Wallet },
  requests: NewMeteredRequest[],
  lapseSeconds: number,
): Promise<boolean> => {
  const legs = requests.flatMap(({ id, day, holdMicros, keyId }) =>
    legsOf({ kind: 'hold', accountId, wallet, taskId: id, day, amountMicros: holdMicros, keyId }),
  )
  const { rows } = await database.query<{ taken: number }>(
    `with quick as materialized (
       select set_config('synchronous_commit', 'off', true) as mode
     ), taken as (
       update balances
          set available_micros = available_micros - $3, held_micros = held_micros + $3,
              spent_micros = $3 + case when spent_since < date_trunc('month', clock_timestamp() at time zone 'utc')::date
                                       then 0 else spent_micros end,
              spent_since = greatest(spent_since, date_trunc('month', clock_timestamp() at time zone 'utc')::date)
         from quick
        where account_id = $1 and wallet = $2 and available_micros >= $3 and quick.mode = 'off'
          and not exists (select from accounts where id = $1 and spend_cap_micros is not null)
          and not exists (select from key_quotas where key_id = any($7::uuid[]))
          and not exists (select from key_budgets where key_id = any($7::uuid[]))
       returning account_id, clock_timestamp() as at
     ), written as (
       insert into ledger_entries (day, account_id, wallet, task_id, key_id, movement, book, amount_micros, created_at)
       select day, $1, $2, "taskId", "keyId", movement, book, "amountMicros", taken.at
         from taken, jsonb_to_recordset($4::jsonb) as leg
           (day date, "taskId" text, "keyId" uuid, movement text, book text, "amountMicros" bigint)
     ), opened as (
       ${insertOfRequests('$5', '$6')} where exists (select from taken)
     )
     select count(*) as taken from taken`,
    [
      accountId,
      wallet,
      requests.reduce((sum, { holdMicros }) => sum + holdMicros, 0),
      JSON.stringify(legs),
      JSON.stringify(requests),
      lapseSeconds,
      [...new Set(requests.map(({ keyId }) => keyId))],
    ],
  )
  return rows[0]?.taken === 1
}

/** Sees that a wallet is there to be filled; an account's first money makes it. */
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

/** A wallet as it is until the transaction ends, or nothing where the account has none or another has it already. */
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

/** Begins a cycle in a wallet that is locked: what was held until now is of an earlier one. */
export const beginCycle = async (database: Database, accountId: string): Promise<void> => {
  await database.query(
    `update balances set opened_at = clock_timestamp() where account_id = $1 and wallet = 'subscription'`,
    [accountId],
  )
}

export interface LedgerAudit {
  /** Sum over every leg ever written; anything but zero is a fault. */
  sumMicros: number
  /** Balances that differ from the sum of their legs. */
  driftedBalances: number
  /** Finished tasks and requests that still hold money. */
  heldByFinished: number
}

/** The ledger's invariants, computed from nothing but the record. */
export const auditLedger = async (database: Database): Promise<LedgerAudit> => {
  const { rows } = await database.query<LedgerAudit & Record<string, number>>(
    `select (select coalesce(sum(amount_micros), 0) from ledger_entries) as "sumMicros",
            (select count(*) from balances b
              left join lateral (
                select coalesce(sum(amount_micros) filter (where book = 'available'), 0) as available,
                       coalesce(sum(amount_micros) filter (where book = 'held'), 0) as held
                  from ledger_entries l where l.account_id = b.account_id and l.wallet = b.wallet) l on true
              where l.available <> b.available_micros or l.held <> b.held_micros) as "driftedBalances",
            (select count(*) from (
              select l.task_id from ledger_entries l
                join (select day, id from video_tasks where finished_at is not null
                      union all
                      select day, id from metered_requests where outcome <> 'open'
                      union all
                      select day, id from transcription_tasks where finished_at is not null) ended
                  on ended.day = l.day and ended.id = l.task_id
               where l.book = 'held'
               group by l.task_id having sum(l.amount_micros) <> 0) held) as "heldByFinished"`,
  )
  const [audit] = rows
  if (audit === undefined) throw new Error('the audit answered no row')
  return audit
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
