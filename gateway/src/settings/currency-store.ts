import type { Database, Postgres } from '../platform/postgres.ts'

/** Every place where an amount is kept that somebody set or moved. */
const amounts = [
  'select from ledger_entries',
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
 * Records the currency of the instance, or says why it cannot be this one. Amounts are kept without it: with another one,
 * each of them would mean something else. Before there are any, it may be changed by the role that makes them.
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
      return `CURRENCY is ${currency}, but the amounts in this database are in ${recorded}. They are not converted: every balance, price and limit would change its meaning. Set CURRENCY=${recorded}, or use an empty database.`
    }
    await database.query('update instance_settings set currency = $1 where singleton', [currency])
    return undefined
  })
