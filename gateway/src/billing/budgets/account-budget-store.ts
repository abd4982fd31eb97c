/** The budget and the alerts that a customer has set for their account. Accounts without any have no row. */
import type { Database } from '../../platform/postgres.ts'

export interface AccountBudget {
  spendCapMicros: number | null
  balanceAlertMicros: number | null
  /** Ascending. */
  spendAlertsMicros: number[]
}

export interface OwnAccount extends AccountBudget {
  name: string
  /** The operator's cap; the smaller one applies. */
  operatorSpendCapMicros: number | null
  availableMicros: number
  heldMicros: number
  spentMicros: number
  spentResetsAt: Date
}

const month = `date_trunc('month', clock_timestamp() at time zone 'utc')::date`

/** What an account has spent in this month, over all of its wallets. */
const spentBy = (accountId: string) =>
  `coalesce((select sum(spent_micros) from balances where account_id = ${accountId} and spent_since >= ${month}), 0)::bigint`

/** The pay-as-you-go balance with what is held: a hold that is released again is no change. */
const balanceOf = (accountId: string) =>
  `coalesce((select available_micros + held_micros from balances where account_id = ${accountId} and wallet = 'payg'), 0)::bigint`

export const findOwnAccount = async (
  database: Database,
  accountId: string,
): Promise<OwnAccount | undefined> => {
  const { rows } = await database.query<OwnAccount & Record<string, unknown>>(
    `select a.name, a.spend_cap_micros as "operatorSpendCapMicros", g.spend_cap_micros as "spendCapMicros",
            g.balance_alert_micros as "balanceAlertMicros",
            coalesce(to_jsonb(g.spend_alerts_micros), '[]') as "spendAlertsMicros",
            coalesce(b.available_micros, 0) as "availableMicros", coalesce(b.held_micros, 0) as "heldMicros",
            ${spentBy('a.id')} as "spentMicros",
            (${month} + interval '1 month') at time zone 'utc' as "spentResetsAt"
       from accounts a
       left join account_budgets g on g.account_id = a.id
       left join balances b on b.account_id = a.id and b.wallet = 'payg'
      where a.id = $1`,
    [accountId],
  )
  return rows[0]
}

/** Sets the budget, inside a transaction. Amounts that the account has reached already cause no event; the next ones do. */
export const setAccountBudget = async (
  database: Database,
  accountId: string,
  { spendCapMicros, balanceAlertMicros, spendAlertsMicros }: AccountBudget,
): Promise<void> => {
  // A movement that has begun judges by the old alerts, and all later ones by the new.
  await database.query('select from balances where account_id = $1 order by wallet for update', [accountId])
  if (spendCapMicros === null && balanceAlertMicros === null && spendAlertsMicros.length === 0) {
    await database.query('delete from account_budgets where account_id = $1', [accountId])
    return
  }
  await database.query(
    `insert into account_budgets as g (account_id, spend_cap_micros, balance_alert_micros, is_balance_low, spend_alerts_micros,
                                       spend_alerted_on, spend_alerted_micros)
     values ($1, $2, $3, coalesce(${balanceOf('$1')} < $3, false), $4, ${month}, ${spentBy('$1')})
     on conflict (account_id) do update
       set spend_cap_micros = excluded.spend_cap_micros, balance_alert_micros = excluded.balance_alert_micros,
           is_balance_low = excluded.is_balance_low, spend_alerts_micros = excluded.spend_alerts_micros,
           spend_alerted_on = excluded.spend_alerted_on,
           spend_alerted_micros = greatest(excluded.spend_alerted_micros,
             case when g.spend_alerted_on = excluded.spend_alerted_on then g.spend_alerted_micros else 0 end)`,
    [accountId, spendCapMicros, balanceAlertMicros, spendAlertsMicros],
  )
}

/** What an account has crossed just now. */
export interface Crossing {
  accountId: string
  currency: string | null
  balanceMicros: number
  /** The alert that the balance fell below; null if it did not. */
  balanceAlertMicros: number | null
  /** Such as `2026-11`. */
  month: string
  spentMicros: number
  /** The alerts that the spending of the month has reached. */
  reachedMicros: number[]
}

/**
 * Records which alerts were crossed, inside the transaction that changed the balances and holds their locks, so that each crossing
 * is returned once. The alert of the balance is armed again by any movement after which the balance is not below it.
 */
export const recordCrossings = async (database: Database, accountIds: string[]): Promise<Crossing[]> => {
  const { rows } = await database.query<Crossing & Record<string, unknown>>(
    `with locked as materialized (
       select * from account_budgets where account_id = any($1::uuid[]) order by account_id for update
     ), present as materialized (
       select g.*, ${month} as month, ${balanceOf('g.account_id')} as balance, ${spentBy('g.account_id')} as spent,
              case when g.spend_alerted_on = ${month} then g.spend_alerted_micros else 0 end as alerted
         from locked g
     ), judged as materialized (
       select p.*, coalesce(p.balance < p.balance_alert_micros, false) as is_low,
              array(select alert from unnest(p.spend_alerts_micros) alert
                     where alert > p.alerted and alert <= p.spent order by alert) as reached
         from present p
     ), changed as (
       update account_budgets g
          set is_balance_low = j.is_low,
              spend_alerted_on = case when j.reached = '{}' then g.spend_alerted_on else j.month end,
              spend_alerted_micros = coalesce(j.reached[cardinality(j.reached)], g.spend_alerted_micros)
         from judged j
        where g.account_id = j.account_id and (j.is_low <> j.is_balance_low or j.reached <> '{}')
     )
     select account_id as "accountId", (select currency from instance_settings) as currency, balance as "balanceMicros",
            case when is_low and not is_balance_low then balance_alert_micros end as "balanceAlertMicros",
            to_char(month, 'YYYY-MM') as month, spent as "spentMicros", to_jsonb(reached) as "reachedMicros"
       from judged where (is_low and not is_balance_low) or reached <> '{}'
      order by account_id`,
    [accountIds],
  )
  return rows
}
