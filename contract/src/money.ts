/** Amounts are integers in micros. An object that contains an amount also contains its currency. */
import { Type } from 'typebox'

import { Nullable } from './fields.ts'

/** One thousand million units of the currency. Sums of such amounts stay exact in a JavaScript number. */
export const amountMax = 1_000_000_000_000_000

export const Micros = (description: string) =>
  Type.Integer({ description: `${description} In millionths of \`currency\`.` })

/** An amount in a request. */
export const RequestMicros = (description: string, minimum = 0) =>
  Type.Integer({ minimum, maximum: amountMax, description: `${description} In millionths of \`currency\`.` })

/** A quantity that need not be whole, such as seconds of audio: decimal text, because a JSON number may be rounded. */
export const Quantity = (description: string) =>
  Type.String({
    pattern: '^\\d+(\\.\\d{1,3})?$',
    description: `${description} Decimal text with at most three decimals.`,
  })

export const Currency = Type.String({
  pattern: '^[A-Z]{3}$',
  'x-demand': 'a currency code of three capital letters such as USD',
  description: 'ISO 4217 code of every amount in this object. An instance has one currency.',
})

export const RequestCurrency = Type.String({
  pattern: '^[A-Z]{3}$',
  'x-demand': 'a currency code of three capital letters such as USD',
  description:
    "ISO 4217 code of the amounts in this request. A code other than the instance's currency is rejected.",
})

/** The conditions of a price. */
export const priceConditions = {
  resolution: Nullable(
    Type.String({
      description:
        'The price is only for videos of this width and height, such as `1280x720`, or of this number of lines, such as `720p`; null for all.',
    }),
  ),
  sound: Nullable(
    Type.Boolean({ description: 'The price is only for videos with or without sound; null for both.' }),
  ),
  input: Nullable(
    Type.String({
      description:
        'The price is only for videos made from `text` alone, with an `image`, or from a `video`; null for all.',
    }),
  ),
}
