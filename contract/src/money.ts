/** Amounts, as every reader and writer of the API means them. An object that has an amount names its currency. */
import { Type } from 'typebox'

export const Micros = Type.Integer({ description: 'Millionths of `currency`.' })

export const Currency = Type.String({
  pattern: '^[A-Z]{3}$',
  'x-demand': 'a currency code of three capital letters such as USD',
  description: 'ISO 4217 code of every amount beside it. An instance has one currency.',
})

/** Of a request's body. */
export const GivenCurrency = Type.String({
  pattern: '^[A-Z]{3}$',
  'x-demand': 'a currency code of three capital letters such as USD',
  description: "The currency the amounts are meant in. Any other than the instance's is refused.",
})
