import type { Database } from '../platform/postgres.ts'
import { insertOfRequests, type NewMeteredRequest } from './metered-request-store.ts'
import { legsOf, type Movement, type Purse } from './money.ts'

/**
 * Writes movements: their legs into the ledger and their sums into the balances, in one statement. This
 * is the only place that changes a balance. A movement that was made before breaks a unique index, a
 * balance that would go below zero breaks a check; both undo the caller's whole transaction.
 */
export const postMovements = async (database: Database, movements: Movement[]): Promise<void> => {
  if (movements.length === 0) return
  await database.query(
    `with legs as (
       select * from jsonb_to_recordset($1::jsonb) as leg
         (day date, "accountId" uuid, purse text, "taskId" text, movement text, book text, "amountMicros" bigint)
     ), written as (
       insert into ledger_entries (day, account_id, purse, task_id, movement, book, amount_micros)
       select day, "accountId", purse, "taskId", movement, book, "amountMicros" from legs
     )
     update balances b
        set available_micros = b.available_micros + change.available, held_micros = b.held_micros + change.held
       from (select "accountId", purse,
                    coalesce(sum("amountMicros") filter (where book = 'available'), 0) as available,
                    coalesce(sum("amountMicros") filter (where book = 'held'), 0) as held
               from legs group by "accountId", purse) change
      where b.account_id = change."accountId" and b.purse = change.purse`,
    [JSON.stringify(movements.flatMap(legsOf))],
  )
}

/**
 * Holds money of one purse for these requests and writes them down, in a single statement: the first byte of a speech
 * waits for it. False where the purse does not cover all of them; then nothing has happened. Like any hold of a
 * request it does not wait for the disk.
 */
export const holdForRequests = async (
  database: Database,
  { accountId, purse }: { accountId: string; purse: Purse },
  requests: NewMeteredRequest[],
  lapseSeconds: number,
): Promise<boolean> => {
  const legs = requests.flatMap(({ id, day, holdMicros }) =>
    legsOf({ kind: 'hold', accountId, purse, taskId: id, day, amountMicros: holdMicros }),
  )
  const { rows } = await database.query<{ taken: number }>(
    `with quick as materialized (
       select set_config('synchronous_commit', 'off', true) as mode
     ), taken as (
       update balances set available_micros = available_micros - $3, held_micros = held_micros + $3
         from quick
        where account_id = $1 and purse = $2 and available_micros >= $3 and quick.mode = 'off'
       returning account_id
     ), written as (
       insert into ledger_entries (day, account_id, purse, task_id, movement, book, amount_micros)
       select day, $1, $2, "taskId", movement, book, "amountMicros"
         from taken, jsonb_to_recordset($4::jsonb) as leg
           (day date, "taskId" text, movement text, book text, "amountMicros" bigint)
     ), opened as (
       ${insertOfRequests('$5', '$6')} where exists (select from taken)
     )
     select count(*) as taken from taken`,
    [
      accountId,
      purse,
      requests.reduce((sum, { holdMicros }) => sum + holdMicros, 0),
      JSON.stringify(legs),
      JSON.stringify(requests),
      lapseSeconds,
    ],
  )
  return rows[0]?.taken === 1
}

/** Sees that a purse is there to be filled; an account's first money makes it. */
export const openPurse = async (database: Database, accountId: string, purse: Purse): Promise<void> => {
  await database.query('insert into balances (account_id, purse) values ($1, $2) on conflict do nothing', [
    accountId,
    purse,
  ])
}

/** What decides whether a key may spend, read under locks that last until the transaction ends. */
export interface SpendingPower {
  accountId: string
  availableMicros: number
  subscriptionEndsAt: Date | null
  subscriptionCycleEndsAt: Date | null
  hasPaymentFailed: boolean
}

export const lockSpendingPower = async (
  database: Database,
  purses: { accountId: string; purse: Purse }[],
): Promise<Map<string, SpendingPower>> => {
  const { rows } = await database.query<SpendingPower & { purse: Purse }>(
    `select b.account_id as "accountId", b.purse, b.available_micros as "availableMicros",
            s.ends_at as "subscriptionEndsAt", s.cycle_ends_at as "subscriptionCycleEndsAt",
            a.payment_state = 'failed' as "hasPaymentFailed"
       from unnest($1::uuid[], $2::text[]) as wanted (account_id, purse)
       join balances b on b.account_id = wanted.account_id and b.purse = wanted.purse
       join accounts a on a.id = b.account_id
       left join subscriptions s on s.account_id = b.account_id
      order by b.account_id, b.purse
        for update of b`,
    [purses.map(({ accountId }) => accountId), purses.map(({ purse }) => purse)],
  )
  return new Map(rows.map((row) => [`${row.accountId}/${row.purse}`, row]))
}

export interface KeyQuota {
  keyId: string
  quotaMicros: number
  usedMicros: number
}

export const lockKeyQuotas = async (database: Database, keyIds: string[]): Promise<Map<string, KeyQuota>> => {
  if (keyIds.length === 0) return new Map()
  const { rows } = await database.query<KeyQuota>(
    `select key_id as "keyId", quota_micros as "quotaMicros", used_micros as "usedMicros"
       from key_quotas where key_id = any($1) order by key_id for update`,
    [keyIds],
  )
  return new Map(rows.map((row) => [row.keyId, row]))
}

/** Adds to what keys with a quota have used; a release gives back with a negative amount. */
export const addKeyUsage = async (
  database: Database,
  usage: { keyId: string; amountMicros: number }[],
): Promise<void> => {
  if (usage.length === 0) return
  await database.query(
    `update key_quotas q set used_micros = q.used_micros + u.amount
       from (select key_id, sum(amount) as amount from unnest($1::uuid[], $2::bigint[]) as u (key_id, amount)
              group by key_id) u
      where q.key_id = u.key_id`,
    [usage.map(({ keyId }) => keyId), usage.map(({ amountMicros }) => amountMicros)],
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
                  from ledger_entries l where l.account_id = b.account_id and l.purse = b.purse) l on true
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
