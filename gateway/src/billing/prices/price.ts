/** The priced units, and how many counted items (seconds, characters, tokens) make up one of them. */
const units = {
  second: 1,
  call: 1,
  minute: 60,
  million_characters: 1_000_000,
  million_text_input_tokens: 1_000_000,
  million_audio_input_tokens: 1_000_000,
  million_text_output_tokens: 1_000_000,
  million_audio_output_tokens: 1_000_000,
} as const

export type PriceUnit = keyof typeof units

/** The price of an order with its inputs, so that later price changes do not affect it. */
export interface Price {
  unit: PriceUnit
  unitMicros: number
  /** In units. */
  quantity: number
  totalMicros: number
  /** The version of an operator's price; absent for catalog prices. */
  version?: number
}

/** The price of one unit. */
export type Rate = Pick<Price, 'unit' | 'unitMicros' | 'version'>

/** The price of a number of seconds, characters, or tokens, rounded up to a whole micro. */
export const priceAt = ({ unit, unitMicros, version }: Rate, counted: number): Price => ({
  unit,
  unitMicros,
  quantity: counted / units[unit],
  // Rounds away binary fraction errors first, such as those of 2.7 seconds, so that they do not add a micro.
  totalMicros: Math.ceil(Number(((unitMicros * counted) / units[unit]).toFixed(6))),
  ...(version !== undefined && { version }),
})

export const priceOf = (unit: PriceUnit, unitMicros: number, counted: number): Price =>
  priceAt({ unit, unitMicros }, counted)

export const totalOf = (prices: Price[]): number =>
  prices.reduce((sum, { totalMicros }) => sum + totalMicros, 0)
