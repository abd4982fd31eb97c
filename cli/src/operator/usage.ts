/** `kinora usage --scope all`: the usage of all accounts, with what it cost at the providers. */
import type { TotalUsageRow } from '@kinora/client/admin'

import { connectOperator } from '../connection/connect-operator.ts'
import type { OperatorInput } from '../connection/find-operator.ts'
import { formatMoney, formatTime } from '../terminal/format.ts'
import { printJson, tell } from '../terminal/print.ts'
import { printTable } from '../terminal/text-table.ts'
import { findAccountId } from './find-named.ts'
import { omitAbsent } from './read-amount.ts'

const daySeconds = 86_400

const describePeriod = ({ period }: TotalUsageRow, isHourly: boolean): string => {
  if (period === null) return ''
  // Days are those of the service, in UTC.
  return isHourly ? formatTime(period) : new Date(period * 1000).toISOString().slice(0, 10)
}

const describeMoney = (micros: number | null, currency: string) =>
  micros === null ? '' : formatMoney(micros, currency)

export const showTotalUsage = async (
  input: OperatorInput & { by: string; account: string | undefined; days: number; json: boolean },
): Promise<void> => {
  const admin = await connectOperator(input)
  const to = Math.floor(Date.now() / 1000) + 1
  const accountId = await findAccountId(admin, input.account)
  const page = await admin.usage.get({
    group_by: input.by,
    from: to - input.days * daySeconds,
    to,
    ...omitAbsent({ account_id: accountId }),
  })
  if (input.json) return printJson(page)
  printTable(page.data, [
    { title: 'period', cell: (row) => describePeriod(row, input.by.includes('hour')) },
    { title: 'account', cell: (row) => row.account_name ?? row.account_id ?? '', isFlexible: true },
    { title: 'key', cell: (row) => row.key_name ?? row.key_id ?? '' },
    { title: 'model', cell: ({ model }) => model ?? '' },
    { title: 'provider', cell: ({ provider }) => provider ?? '' },
    { title: 'requests', cell: ({ requests }) => String(requests), isRight: true },
    { title: 'failed', cell: ({ failed }) => (failed === 0 ? '' : String(failed)), isRight: true },
    {
      title: 'charged',
      cell: (row) => formatMoney(row.captured_micros - row.refunded_micros, row.currency),
      isRight: true,
    },
    { title: 'cost', cell: (row) => describeMoney(row.cost_micros, row.currency), isRight: true },
    { title: 'margin', cell: (row) => describeMoney(row.margin_micros, row.currency), isRight: true },
  ])
  if (page.next !== null) tell('There are more rows. Use fewer --days, or --account.')
}
