import type { Database, Postgres } from '../platform/postgres.ts'

/** Every table that stores amounts. */
const amounts = [
  'select from ledger_entries',
  'select from opening_balances',
  'select from prices',
  'select from plans',
  'select from key_quotas',
  'select from key_budgets',
  'select from accounts where spend_cap_micros is not null',
]

const hasAmounts = async (database: Database): Promise<boolean> => {
  const { rows } = await database.query<{ has: boolean }>(
    `select ${amounts.map((each) => `exists (${each})`).join(' or ')} as has`,
  )
  return rows[0]?.has === true
}

/**
 * Records the currency of the instance; returns an error message if it conflicts with the recorded one. Amounts are
 * stored without a currency, so it can change only while there are no amounts, and only by a role with `mayChange`.
 */
export const recordCurrency = (
  postgres: Postgres,
  currency: string,
  { mayChange }: { mayChange: boolean },
): Promise<string | undefined> =>
  postgres.transaction(async (database) => {
    await database.query("insert into instance_settings (settings) values ('{}') on conflict do nothing")
    const { rows } = await database.query<{ recorded: string | null }>(
      'select currency as recorded from instance_settings where singleton for update',
    )
    const recorded = rows[0]?.recorded ?? null
    if (recorded === currency) return undefined
    if (recorded !== null && !mayChange) {
      return `CURRENCY is ${currency}, but this instance was started with ${recorded}. Set CURRENCY=${recorded} for every role.`
    }
    if (recorded !== null && (await hasAmounts(database))) {
      return `CURRENCY is ${currency}, but the amounts in this database are in ${recorded}. Amounts are not converted. Set CURRENCY=${recorded}, or use an empty database.`
    }
    await database.query('update instance_settings set currency = $1 where singleton', [currency])
    return undefined
  })
