/** Separate accounts and keys, so that the effect of one request on the ledger is visible. */
import type { Database } from '../../src/platform/postgres.ts'
import { createAccount, createKey } from './factories.ts'

export type Traits = Parameters<typeof createKey>[2] & { hasFailed?: boolean }

export const createSpender = async (
  database: Parameters<typeof createAccount>[0],
  balance: number,
  traits: Traits = {},
) => {
  const account = await createAccount(database, { balance })
  const { hasFailed, ...rest } = traits
  if (hasFailed === true) {
    await database.query(`update accounts set payment_state = 'failed' where id = $1`, [account])
  }
  return { account, ...(await createKey(database, account, rest)) }
}

/** The metered requests of the account, oldest first. */
export const meteredRequestsOf = async (database: Database, account: string) => {
  const { rows } = await database.query<Record<string, unknown>>(
    `select operation, model, provider, outcome, hold_micros as held, captured_micros as captured
       from metered_requests where account_id = $1 order by created_at`,
    [account],
  )
  return rows
}

export const paygBalanceOf = async (database: Database, account: string) => {
  const { rows } = await database.query<Record<string, unknown>>(
    `select available_micros as available, held_micros as held from balances
      where account_id = $1 and wallet = 'payg'`,
    [account],
  )
  return rows[0]
}
