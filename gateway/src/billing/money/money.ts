/**
 * Money is whole micro-units (a millionth of the currency). A movement takes from one book and gives to
 * another, so its two legs sum to zero; this table is the only place that says which books those are.
 */
export type Wallet = 'payg' | 'subscription'
export type Book = 'funding' | 'available' | 'held' | 'revenue'
export type MovementKind = 'top_up' | 'grant' | 'adjustment' | 'expiry' | 'hold' | 'capture' | 'release'

export const movementBooks: Record<MovementKind, { from: Book; to: Book }> = {
  top_up: { from: 'funding', to: 'available' },
  grant: { from: 'funding', to: 'available' },
  // The one that goes either way: a negative amount is taken back.
  adjustment: { from: 'funding', to: 'available' },
  expiry: { from: 'available', to: 'funding' },
  hold: { from: 'available', to: 'held' },
  capture: { from: 'held', to: 'revenue' },
  release: { from: 'held', to: 'available' },
}

export interface Movement {
  kind: MovementKind
  accountId: string
  wallet: Wallet
  /** The task, request or movement of the account it is about and the day that was made, or null and today. */
  taskId: string | null
  day: string
  amountMicros: number
  /** The key whose limits a hold counts against, and a release gives back to. */
  keyId?: string
}

export interface Leg extends Omit<Movement, 'kind'> {
  movement: MovementKind
  book: Book
}

export const legsOf = (movement: Movement): [Leg, Leg] => {
  const { kind, amountMicros, ...rest } = movement
  if (!Number.isSafeInteger(amountMicros) || (amountMicros < 0 && kind !== 'adjustment')) {
    throw new RangeError(`a ${kind} of ${amountMicros} micros is not an amount`)
  }
  const { from, to } = movementBooks[kind]
  return [
    { ...rest, movement: kind, book: from, amountMicros: -amountMicros },
    { ...rest, movement: kind, book: to, amountMicros },
  ]
}

/** How many decimals an amount of this currency has at least: two in dollars, none in yen. */
const decimalsOf = (currency: string): number =>
  new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().minimumFractionDigits ?? 2

/** Written from its digits, so that nothing of it is rounded away. */
const decimal = (micros: number, currency: string): string => {
  const digits = String(Math.abs(micros)).padStart(7, '0')
  const [whole, fraction] = [digits.slice(0, -6), digits.slice(-6).replace(/0+$/, '')]
  const decimals = fraction.padEnd(decimalsOf(currency), '0')
  return `${micros < 0 ? '-' : ''}${whole}${decimals === '' ? '' : `.${decimals}`}`
}

/** An amount as people read it in messages: `12.345678 USD`. */
export const formatAmount = (micros: number, currency: string): string =>
  `${decimal(micros, currency)} ${currency}`

/** What is left of a limit: `0.30 of 0.50 USD`. */
export const formatShare = (leftMicros: number, limitMicros: number, currency: string): string =>
  `${decimal(leftMicros, currency)} of ${formatAmount(limitMicros, currency)}`
