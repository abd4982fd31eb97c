import type { adminOperations } from '@kinora/contract/admin-operations'

import type { PriceInForce, PriceList } from '../../billing/prices/price-list.ts'
import type { Handler } from '../../http/call.ts'
import { pageOf, readCursor, rowsFor } from '../page.ts'
import { presentPrice } from './present-price.ts'

/** The sort key of a price, in an order that new prices do not change. */
const placeOf = ({ model, unit, resolution, sound, input, version }: PriceInForce): string[] => [
  model,
  unit,
  [resolution ?? '', sound ?? '', input ?? ''].join('/'),
  String(version).padStart(9, '0'),
]

const compare = (a: string[], b: string[]): number => {
  for (const [index, part] of a.entries()) {
    const other = b[index] ?? ''
    if (part !== other) return part < other ? -1 : 1
  }
  return 0
}

const anything = /^.{0,100}$/

const everyVersion = (prices: PriceList): PriceInForce[] => {
  const set = prices.all().map((price) => ({ ...price, source: 'operator' as const }))
  return [...prices.inForce().filter(({ source }) => source !== 'operator'), ...set]
}

export const listPrices =
  ({ prices }: { prices: PriceList }): Handler<typeof adminOperations.listPrices> =>
  async (call) => {
    const { model, all } = call.query
    const after = readCursor(call, 'prices', [anything, anything, anything, anything])
    await prices.refresh()
    const rows = (all === 'true' ? everyVersion(prices) : prices.inForce())
      .filter((price) => model === undefined || price.model === model)
      .toSorted((a, b) => compare(placeOf(a), placeOf(b)))
      .filter((price) => after === undefined || compare(placeOf(price), after) > 0)
    const present = (price: PriceInForce) => presentPrice(price, call.operator.currency)
    return { body: pageOf(call, 'prices', rows.slice(0, rowsFor(call)), present, placeOf) }
  }
