import type { Statement, StatementWallet } from '@kinora/contract/operations/statements'

import { formatCsv } from '../platform/text/csv.ts'

interface Line {
  line: string
  model?: string | null
  count?: number
  quantity?: string
  unit?: string
  unit_size?: number
  amount_micros?: number
}

const columns = [
  ...['month', 'state', 'account_id', 'account_name', 'wallet', 'line', 'model'],
  ...['count', 'quantity', 'unit', 'unit_size', 'amount_micros', 'currency'],
]

const movement = (line: string, { count, amount_micros }: StatementWallet['top_ups']): Line => ({
  ...{ line, count, amount_micros },
})

/** A model with several quantities has one line for each; the first has the amount. */
const chargeLines = ({ charges_by_model: charges }: StatementWallet): Line[] =>
  charges.flatMap(({ model, count, quantities: [first, ...rest], amount_micros: amount }) => [
    {
      ...{ line: 'charge', model, count, ...first },
      // Adding 0 keeps a free model from being shown as -0.
      amount_micros: 0 - amount,
    },
    ...rest.map((quantity) => ({ line: 'charge', model, ...quantity })),
  ])

/** The opening balance and the lines between it and the closing balance sum up to the closing balance. */
const linesOf = (wallet: StatementWallet): Line[] => [
  { line: 'opening_balance', amount_micros: wallet.opening_balance_micros },
  movement('top_ups', wallet.top_ups),
  movement('grants', wallet.grants),
  movement('refunds', wallet.refunds),
  movement('adjustments', wallet.adjustments),
  movement('expiries', wallet.expiries),
  ...chargeLines(wallet),
  { line: 'closing_balance', amount_micros: wallet.closing_balance_micros },
  { line: 'held', amount_micros: wallet.held_micros },
]

/** A statement as comma-separated values. */
export const formatStatementTable = ({ month, state, account, wallets }: Statement): string =>
  formatCsv(
    columns,
    wallets.flatMap((wallet) =>
      linesOf(wallet).map((line) => ({
        ...{ month, state, account_id: account.id, account_name: account.name },
        ...{ wallet: wallet.wallet, ...line, currency: wallet.currency },
      })),
    ),
  )
