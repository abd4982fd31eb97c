/** `kinora models list`. */
import type { Model } from '@kinora/client'

import { connect } from '../connection/connect.ts'
import { formatMoney } from '../terminal/format.ts'
import { printJson } from '../terminal/print.ts'
import { printTable } from '../terminal/text-table.ts'

/** The lowest price, marked if there are others. */
const describePrice = ({ prices }: Model): string => {
  const [lowest] = prices.toSorted((one, other) => one.unit_micros - other.unit_micros)
  if (lowest === undefined) return ''
  const price = `${formatMoney(lowest.unit_micros, lowest.currency)} / ${lowest.unit.replace('million_', '1M ')}`
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
    { title: 'price', cell: describePrice },
    {
      title: 'notes',
      isFlexible: true,
      cell: ({ alias_of: alias, state, shutdown_date: date }) =>
        state === 'deprecated' ? `ends ${date ?? ''}` : alias === undefined ? '' : `= ${alias}`,
      style: ({ state }) => (state === 'deprecated' ? 'yellow' : 'dim'),
    },
  ])
}
