/** Statements: the opening balance, the movements and the closing balance of a calendar month, summed up by the database. */
import { ApiError } from '@kinora/contract/errors'
import type {
  Statement,
  StatementCharge,
  StatementMonth,
  StatementWallet,
} from '@kinora/contract/operations/statements'

import {
  sumCharges,
  sumMovements,
  type ChargeSum,
  type MovementSum,
} from '../billing/ledger/statement-sums-store.ts'
import { formatQuantity } from '../billing/prices/price.ts'
import { priceUnits, type PriceUnit } from '../models/price-rule.ts'
import type { Postgres } from '../platform/postgres.ts'
import type { Issuer } from './issuer.ts'
import { asOf, dayOf, monthOfDay, parseMonth, presentMonth } from './statement-month.ts'
import {
  findStatementAccount,
  listActiveMonths,
  listWalletBalances,
  readInSnapshot,
  type WalletBalance,
} from './statement-store.ts'

/** The months in which money moved, newest first; undefined if the account does not exist. */
export const listStatementMonths = (
  postgres: Postgres,
  accountId: string,
): Promise<StatementMonth[] | undefined> =>
  readInSnapshot(postgres, async (database) => {
    const account = await findStatementAccount(database, accountId)
    if (account === undefined) return undefined
    return (await listActiveMonths(database, accountId)).map((day) => ({
      object: 'statement_month',
      ...presentMonth(monthOfDay(day), account.now),
    }))
  })

const isPriceUnit = (unit: string): unit is PriceUnit => Object.hasOwn(priceUnits, unit)

const presentQuantity = ({ unit, quantity }: ChargeSum): StatementCharge['quantities'][number] => {
  const { counted } = isPriceUnit(unit) ? priceUnits[unit] : { counted: 1 }
  return { unit, quantity: formatQuantity(Number(quantity) * counted), unit_size: counted }
}

/** The most expensive models first. */
const presentCharges = (sums: ChargeSum[], currency: string): StatementCharge[] =>
  [...Map.groupBy(sums, ({ model }) => model)]
    .map(([model, ofModel]) => ({
      model: model === '' ? null : model,
      count: ofModel.reduce((sum, { charges }) => sum + charges, 0),
      quantities: ofModel.flatMap((sum) => (sum.unit === '' ? [] : presentQuantity(sum))),
      amount_micros: ofModel.reduce((sum, { amountMicros }) => sum + amountMicros, 0),
      currency,
    }))
    .toSorted((one, other) => other.amount_micros - one.amount_micros)

const totalOf = (sums: MovementSum[], amount: 'balanceMicros' | 'heldMicros') =>
  sums.reduce((sum, each) => sum + each[amount], 0)

/** What happened after the month is subtracted from the present balance. */
const presentWallet = (
  { wallet, availableMicros, heldMicros }: WalletBalance,
  movements: MovementSum[],
  charges: ChargeSum[],
  currency: string,
): StatementWallet => {
  const sums = movements.filter((each) => each.wallet === wallet)
  const later = sums.filter(({ isAfter }) => isAfter)
  const within = sums.filter(({ isAfter }) => !isAfter)
  const closing = availableMicros + heldMicros - totalOf(later, 'balanceMicros')
  const made = (kind: string) => {
    const ofKind = within.filter(({ movement }) => movement === kind)
    const count = ofKind.reduce((sum, each) => sum + each.movements, 0)
    return { count, amount_micros: totalOf(ofKind, 'balanceMicros'), currency }
  }
  return {
    wallet,
    currency,
    opening_balance_micros: closing - totalOf(within, 'balanceMicros'),
    top_ups: made('top_up'),
    grants: made('grant'),
    refunds: made('refund'),
    adjustments: made('adjustment'),
    expiries: made('expiry'),
    charges: made('capture'),
    charges_by_model: presentCharges(
      charges.filter((each) => each.wallet === wallet),
      currency,
    ),
    closing_balance_micros: closing,
    held_micros: heldMicros - totalOf(later, 'heldMicros'),
  }
}

const movementsOf = ({ top_ups, grants, refunds, adjustments, expiries, charges }: StatementWallet) => [
  ...[top_ups, grants, refunds, adjustments, expiries, charges],
]

/** A wallet that was opened later, or never used. */
const isUnused = (wallet: StatementWallet) =>
  wallet.opening_balance_micros === 0 &&
  wallet.held_micros === 0 &&
  movementsOf(wallet).every(({ count }) => count === 0)

const noStatement = (month: string) =>
  new ApiError('resource_not_found', {
    message: `There is no statement for '${month.slice(0, 20)}'. Use a month such as 2026-10, in which the account existed.`,
  })

/** The statement of a month; undefined if the account does not exist. Throws for a month without a statement. */
export const readStatement = (
  postgres: Postgres,
  given: { accountId: string; month: string; currency: string; issuer: Issuer },
): Promise<Statement | undefined> =>
  readInSnapshot(postgres, async (database) => {
    const { accountId, currency, issuer } = given
    const account = await findStatementAccount(database, accountId)
    if (account === undefined) return undefined
    const month = parseMonth(given.month)
    if (month === undefined) throw noStatement(given.month)
    const days = { accountId, from: dayOf(month.start), to: dayOf(month.end) }
    if (days.from < account.firstMonth || days.from > account.currentMonth) throw noStatement(given.month)
    const balances = await listWalletBalances(database, accountId)
    const movements = await sumMovements(database, days)
    const charges = await sumCharges(database, days)
    return {
      object: 'statement',
      ...presentMonth(month, account.now),
      as_of: asOf(month, account.now),
      issuer: { name: issuer.name ?? null, address: issuer.address, tax_number: issuer.taxNumber ?? null },
      account: { id: accountId, name: account.name },
      wallets: balances
        .map((balance) => presentWallet(balance, movements, charges, currency))
        .filter((wallet) => !isUnused(wallet)),
    }
  })
