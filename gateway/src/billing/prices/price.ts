import { appliesTo, priceUnits, rankOf, type PricedWork, type PriceRule } from '../../models/price-rule.ts'

/** A line of a price, with its inputs, so that later price changes do not affect it. */
export interface Price extends Pick<PriceRule, 'unit' | 'unitMicros' | 'version'> {
  /** In units. */
  quantity: number
  totalMicros: number
  /** The conditions of the rule, if it had any. */
  resolution?: string
  sound?: boolean
  input?: string
}

/** Fractions of counted items are used up to a thousandth. */
const parts = 1_000

/** A counted quantity as decimal text, exact to the thousandth that is charged. */
export const formatQuantity = (counted: number): string => {
  const thousandths = Math.round(counted * parts)
  const decimals = String(thousandths % parts)
    .padStart(3, '0')
    .replace(/0+$/, '')
  const whole = String(Math.floor(thousandths / parts))
  return decimals === '' ? whole : `${whole}.${decimals}`
}

/** The price of a number of seconds, characters, or tokens, rounded up to a whole micro. */
export const priceAt = (
  { unit, unitMicros, version, resolution, sound, input }: PriceRule,
  counted: number,
): Price => {
  const inUnit = priceUnits[unit].counted
  const divisor = BigInt(inUnit * parts)
  const exact = BigInt(unitMicros) * BigInt(Math.round(counted * parts))
  return {
    unit,
    unitMicros,
    quantity: counted / inUnit,
    totalMicros: Number((exact + divisor - 1n) / divisor),
    ...(version !== undefined && { version }),
    ...(resolution !== null && { resolution }),
    ...(sound !== null && { sound }),
    ...(input !== null && { input }),
  }
}

export const priceOf = (unit: PriceRule['unit'], unitMicros: number, counted: number): Price =>
  priceAt({ unit, unitMicros, resolution: null, sound: null, input: null }, counted)

const measures = [...new Set(Object.values(priceUnits).map((unit) => unit.measures))]

/**
 * The lines of a price. For each measure, the first list with a rule that applies decides, and in it the rule with the
 * highest rank.
 */
export const pricesFor = (lists: PriceRule[][], work: PricedWork): Price[] =>
  measures.flatMap((measure) => {
    for (const rules of lists) {
      const [rule] = rules
        .filter(({ unit }) => priceUnits[unit].measures === measure && work.counted[unit] !== undefined)
        .filter((each) => appliesTo(each, work))
        .toSorted((one, other) => rankOf(other) - rankOf(one))
      if (rule !== undefined) return priceAt(rule, work.counted[rule.unit] ?? 0)
    }
    return []
  })

export const totalOf = (prices: Price[]): number =>
  prices.reduce((sum, { totalMicros }) => sum + totalMicros, 0)

/** What the same quantities cost at a provider; undefined if its costs are not known. */
export const costOf = (costs: PriceRule[] | undefined, work: PricedWork): number | undefined =>
  costs === undefined ? undefined : totalOf(pricesFor([costs], work))

/** The work that lines without conditions were charged for. */
export const workOf = (prices: Price[]): PricedWork => ({
  counted: Object.fromEntries(
    prices.map(({ unit, quantity }) => [unit, quantity * priceUnits[unit].counted]),
  ),
})
