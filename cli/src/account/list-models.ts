/** `kinora models list`. */
import type { Model } from '@kinora/client'

import { connect } from '../connection/connect.ts'
import { formatMoney } from '../terminal/format.ts'
import { printJson } from '../terminal/print.ts'
import { printTable } from '../terminal/text-table.ts'

const describeSeconds = ({ seconds, durations }: Model): string => {
  if (seconds !== undefined) return seconds.values?.join(' ') ?? `${seconds.min}–${seconds.max}`
  return durations?.join(' ') ?? ''
}

/** The lowest price, marked if there are others. */
const describePrice = ({ prices }: Model): string => {
  const [lowest] = prices.toSorted((one, other) => one.unit_micros - other.unit_micros)
  if (lowest === undefined) return ''
  const price = `${formatMoney(lowest.unit_micros, lowest.currency)} per ${lowest.unit}`
  return prices.length > 1 ? `from ${price}` : price
}

export const listModels = async (input: {
  kind: string | undefined
  json: boolean
  profile: string | undefined
}): Promise<void> => {
  const { kinora } = await connect(input)
  const list = await kinora.models.list()
  const data = list.data.filter(({ kind }) => input.kind === undefined || kind === input.kind)
  if (input.json) return printJson({ ...list, data })
  printTable(data, [
    { title: 'model', cell: ({ id }) => id },
    { title: 'kind', cell: ({ kind }) => kind },
    { title: 'seconds', cell: describeSeconds, isFlexible: true },
    { title: 'price', cell: describePrice },
    {
      title: 'notes',
      cell: ({ alias_of: alias, state, shutdown_date: date }) =>
        state === 'deprecated' ? `ends ${date ?? ''}` : alias === undefined ? '' : `= ${alias}`,
      style: ({ state }) => (state === 'deprecated' ? 'yellow' : 'dim'),
    },
  ])
}
