/**
 * Amounts are integer micro-units, a millionth of the currency. A movement transfers an amount from one book to another,
 * so its two entries sum to zero. `movementBooks` is the only definition of those books.
 */
export type Wallet = 'payg' | 'subscription'
export type Book = 'funding' | 'available' | 'held' | 'revenue'
export type MovementKind =
  | 'top_up'
  | 'grant'
  | 'adjustment'
  | 'expiry'
  | 'hold'
  | 'capture'
  | 'release'
  | 'refund'

export const movementBooks: Record<MovementKind, { from: Book; to: Book }> = {
  top_up: { from: 'funding', to: 'available' },
  grant: { from: 'funding', to: 'available' },
  // The only movement that may have a negative amount.
  adjustment: { from: 'funding', to: 'available' },
  expiry: { from: 'available', to: 'funding' },
  hold: { from: 'available', to: 'held' },
  capture: { from: 'held', to: 'revenue' },
  release: { from: 'held', to: 'available' },
  refund: { from: 'revenue', to: 'available' },
}

export interface Movement {
  kind: MovementKind
  accountId: string
  wallet: Wallet
  /** The task, metered request, or account movement, and its creation day; null and today without one. */
  taskId: string | null
  day: string
  amountMicros: number
  /** The key whose limits a hold counts against and a release or refund restores. */
  keyId?: string
}

export interface Leg extends Omit<Movement, 'kind'> {
  movement: MovementKind
  book: Book
}

export const legsOf = (movement: Movement): [Leg, Leg] => {
  const { kind, amountMicros, ...rest } = movement
  if (!Number.isSafeInteger(amountMicros) || (amountMicros < 0 && kind !== 'adjustment')) {
    throw new RangeError(`Invalid amount of a ${kind}: ${amountMicros} micros`)
  }
  const { from, to } = movementBooks[kind]
  return [
    { ...rest, movement: kind, book: from, amountMicros: -amountMicros },
    { ...rest, movement: kind, book: to, amountMicros },
  ]
}

/** The minimum number of decimals in this currency: two for USD, none for JPY. */
const decimalsOf = (currency: string): number =>
  new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().minimumFractionDigits ?? 2

/** Formats from the digits, so that nothing is rounded. */
const decimal = (micros: number, currency: string): string => {
  const digits = String(Math.abs(micros)).padStart(7, '0')
  const [whole, fraction] = [digits.slice(0, -6), digits.slice(-6).replace(/0+$/, '')]
  const decimals = fraction.padEnd(decimalsOf(currency), '0')
  return `${micros < 0 ? '-' : ''}${whole}${decimals === '' ? '' : `.${decimals}`}`
}

const groups = (whole: string) => whole.replace(/\B(?=(\d{3})+$)/g, ',')

/** How many decimals the amounts of a table need, so that they can be aligned. */
export const countDecimals = (amounts: number[], currency: string): number =>
  Math.max(0, ...amounts.map((micros) => decimal(micros, currency).split('.')[1]?.length ?? 0))

/** An amount for a table, with as many decimals as the others have: `−1,234.50`. */
export const formatTableAmount = (micros: number, currency: string, decimals: number): string => {
  const [whole = '', fraction = ''] = decimal(Math.abs(micros), currency).split('.')
  const padded = fraction.padEnd(decimals, '0')
  return `${micros < 0 ? '\u2212' : ''}${groups(whole)}${padded === '' ? '' : `.${padded}`}`
}

/** A decimal text with separators: `1,234.5`. */
export const formatTableQuantity = (quantity: string): string => {
  const [whole = '', fraction] = quantity.split('.')
  return fraction === undefined ? groups(whole) : `${groups(whole)}.${fraction}`
}

/** An amount for messages: `12.345678 USD`. */
export const formatAmount = (micros: number, currency: string): string =>
  `${decimal(micros, currency)} ${currency}`

/** The rest of a limit: `0.30 of 0.50 USD`. */
export const formatShare = (leftMicros: number, limitMicros: number, currency: string): string =>
  `${decimal(leftMicros, currency)} of ${formatAmount(limitMicros, currency)}`
