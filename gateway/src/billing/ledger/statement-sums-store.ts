/** The sums of ledger entries by month. A statement adds those of archived entries to those of the entries that are left. */
import type { Database } from '../../platform/postgres.ts'

/** The month in which an entry was recorded. */
const month = `date_trunc('month', entry.created_at at time zone 'utc')::date`

/**
 * Captures by wallet, month, model and unit, for the entries of a condition. A capture and the usage entry of its task are
 * written in one transaction, so their days are at most one apart. An entry with several prices counts once, in the first.
 */
const chargesSql = (where: string, usageWhere: string) =>
  `select entry.account_id, entry.wallet, ${month} as month, coalesce(usage.model, '') as model,
          coalesce(price.line ->> 'unit', '') as unit,
          count(*) filter (where coalesce(price.number, 1) = 1) as charges,
          coalesce(sum(entry.amount_micros) filter (where coalesce(price.number, 1) = 1), 0)::bigint as amount_micros,
          coalesce(sum((price.line ->> 'quantity')::numeric), 0) as quantity
     from ledger_entries entry
     left join usage_entries usage
       on usage.id = entry.task_id and usage.account_id = entry.account_id ${usageWhere}
      and usage.day between (entry.created_at at time zone 'utc')::date - 1 and (entry.created_at at time zone 'utc')::date + 1
     left join lateral jsonb_array_elements(usage.prices) with ordinality as price (line, number) on true
    where entry.movement = 'capture' and entry.book = 'revenue' and ${where}
    group by 1, 2, 3, 4, 5`

/** Adds the entries from before a day, which are about to be archived, to the sums. */
export const addToStatementSums = async (database: Database, before: string): Promise<void> => {
  await database.query(
    `insert into statement_sums as s (account_id, wallet, month, movement, model, unit, movements, balance_micros, held_micros, quantity)
     select account_id, wallet, month, 'capture', model, unit, charges, -amount_micros, -amount_micros, quantity
       from (${chargesSql('entry.day < $1', '')}) charged
      union all
     select entry.account_id, entry.wallet, ${month}, entry.movement, '', '', count(*), sum(entry.amount_micros),
            coalesce(sum(entry.amount_micros) filter (where entry.book = 'held'), 0), 0
       from ledger_entries entry
      where entry.day < $1 and entry.movement <> 'capture' and entry.book in ('available', 'held')
      group by 1, 2, 3, 4
     on conflict (account_id, wallet, month, movement, model, unit) do update
       set movements = s.movements + excluded.movements, balance_micros = s.balance_micros + excluded.balance_micros,
           held_micros = s.held_micros + excluded.held_micros, quantity = s.quantity + excluded.quantity`,
    [before],
  )
}

/** A month of an account; `from` is its first day and `to` that of the next month. */
export interface AccountMonth {
  accountId: string
  from: string
  to: string
}

/** The movements of one kind in a wallet, in the month or after it. */
export interface MovementSum {
  wallet: string
  movement: string
  isAfter: boolean
  movements: number
  /** The change of the balance, held amounts included. */
  balanceMicros: number
  heldMicros: number
}

/** Sums up all movements since the beginning of a month. */
export const sumMovements = async (
  database: Database,
  { accountId, from, to }: AccountMonth,
): Promise<MovementSum[]> => {
  const { rows } = await database.query<MovementSum & Record<string, unknown>>(
    `select wallet, movement, "isAfter", sum(movements)::bigint as movements,
            sum(balance_micros)::bigint as "balanceMicros", sum(held_micros)::bigint as "heldMicros"
       from (select wallet, movement, created_at >= $3::date::timestamp at time zone 'utc' as "isAfter",
                    count(*) as movements, sum(amount_micros) as balance_micros,
                    coalesce(sum(amount_micros) filter (where book = 'held'), 0) as held_micros
               from ledger_entries
              where account_id = $1 and created_at >= $2::date::timestamp at time zone 'utc'
                and book in ('available', 'held')
              group by 1, 2, 3
             union all
             select wallet, movement, month >= $3::date, movements, balance_micros, held_micros
               from statement_sums where account_id = $1 and month >= $2::date) sums
      group by 1, 2, 3`,
    [accountId, from, to],
  )
  return rows
}

/** The charges of one model that were priced in one unit. */
export interface ChargeSum {
  wallet: string
  model: string
  unit: string
  charges: number
  amountMicros: number
  /** In units; decimal text. */
  quantity: string
}

/** Sums up the charges of a month by model. */
export const sumCharges = async (
  database: Database,
  { accountId, from, to }: AccountMonth,
): Promise<ChargeSum[]> => {
  const inMonth = `entry.account_id = $1 and entry.created_at >= $2::date::timestamp at time zone 'utc'
                   and entry.created_at < $3::date::timestamp at time zone 'utc'`
  const usageInMonth = `and usage.account_id = $1 and usage.day between $2::date - 1 and $3::date`
  const { rows } = await database.query<ChargeSum & Record<string, unknown>>(
    `select wallet, model, unit, sum(charges)::bigint as charges, sum(amount_micros)::bigint as "amountMicros",
            trim_scale(sum(quantity))::text as quantity
       from (select wallet, model, unit, charges, amount_micros, quantity from (${chargesSql(inMonth, usageInMonth)}) live
             union all
             select wallet, model, unit, movements, -balance_micros, quantity from statement_sums
              where account_id = $1 and month = $2::date and movement = 'capture') sums
      group by 1, 2, 3 order by 1, 2, 3`,
    [accountId, from, to],
  )
  return rows
}
