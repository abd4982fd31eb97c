/** Amounts are integers in micros. An object that contains an amount also contains its currency. */
import { Type } from 'typebox'

/** One thousand million units of the currency. Sums of such amounts stay exact in a JavaScript number. */
export const amountMax = 1_000_000_000_000_000

export const Micros = (description: string) =>
  Type.Integer({ description: `${description} In millionths of \`currency\`.` })

/** An amount in a request. */
export const RequestMicros = (description: string, minimum = 0) =>
  Type.Integer({ minimum, maximum: amountMax, description: `${description} In millionths of \`currency\`.` })

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
