/** `kinora usage`. */
import type { UsageRow } from '@kinora/client'

import { connect } from '../connection/connect.ts'
import { formatMoney, formatTime } from '../terminal/format.ts'
import { cleanText, isTerminal, print, printJson, style } from '../terminal/print.ts'
import { printTable } from '../terminal/text-table.ts'

const daySeconds = 86_400

const describeGroup = (row: UsageRow, isHourly: boolean): string =>
  [
    ...(row.period === null ? [] : [isHourly ? formatTime(row.period) : formatDay(row.period)]),
    row.model,
    row.key_name ?? row.key_id,
    ...Object.values(row.metadata ?? {}),
  ]
    .filter((text) => text !== null && text !== undefined && text !== '')
    .join(' ')

/** Days are those of the service, in UTC. */
const formatDay = (unixSeconds: number) => new Date(unixSeconds * 1000).toISOString().slice(0, 10)

export const showUsage = async (input: {
  by: string
  scope: 'key' | 'account'
  days: number
  json: boolean
  profile: string | undefined
}): Promise<void> => {
  const { kinora } = await connect(input)
  const to = Math.floor(Date.now() / 1000) + 1
  const [me, page] = await Promise.all([
    kinora.me.get(),
    kinora.usage.get({ group_by: input.by, scope: input.scope, from: to - input.days * daySeconds, to }),
  ])
  if (input.json) return printJson(page)
  const { balance, quota, spend_cap: cap } = me
  if (isTerminal()) {
    print(
      `${style('bold', cleanText(me.account.name))}  balance ${formatMoney(balance.available_micros, balance.currency)}, held ${formatMoney(balance.held_micros, balance.currency)}`,
    )
    for (const [name, limit] of [
      ['quota of the key', quota],
      ['cap of the month', cap],
    ] as const) {
      if (limit === null) continue
      print(
        `${name}: ${formatMoney(limit.used_micros, limit.currency)} of ${formatMoney(limit.limit_micros, limit.currency)}`,
      )
    }
    print('')
  }
  printTable(page.data, [
    {
      title: input.by.replaceAll(',', ' '),
      cell: (row) => describeGroup(row, input.by.includes('hour')),
      isFlexible: true,
    },
    { title: 'requests', cell: ({ requests }) => String(requests), isRight: true },
    { title: 'failed', cell: ({ failed }) => String(failed), isRight: true },
    { title: 'seconds', cell: ({ seconds }) => seconds, isRight: true },
    {
      title: 'cost',
      cell: ({ captured_micros, refunded_micros, currency }) =>
        formatMoney(captured_micros - refunded_micros, currency),
      isRight: true,
    },
  ])
}
