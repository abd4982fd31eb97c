/** What `unitMicros` is the price of, and how much of what is counted makes one unit. */
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

/** What an order costs. The inputs are kept with it, so a later change of prices does not touch it. */
export interface Price {
  unit: PriceUnit
  unitMicros: number
  /** In units. */
  quantity: number
  totalMicros: number
  /** Which of the prices that an operator has set it was; absent for the catalog's. */
  version?: number
}

/** What one unit costs at a time. */
export type Rate = Pick<Price, 'unit' | 'unitMicros' | 'version'>

/** The price of so many seconds, characters or tokens; a part of a micro counts as a whole one. */
export const priceAt = ({ unit, unitMicros, version }: Rate, counted: number): Price => ({
  unit,
  unitMicros,
  quantity: counted / units[unit],
  // 2.7 seconds are not quite that as a binary fraction; what that adds is no part of a micro.
  totalMicros: Math.ceil(Number(((unitMicros * counted) / units[unit]).toFixed(6))),
  ...(version !== undefined && { version }),
})

export const priceOf = (unit: PriceUnit, unitMicros: number, counted: number): Price =>
  priceAt({ unit, unitMicros }, counted)

export const totalOf = (prices: Price[]): number =>
  prices.reduce((sum, { totalMicros }) => sum + totalMicros, 0)
