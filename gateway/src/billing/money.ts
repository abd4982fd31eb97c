/**
 * Money is whole micro-units (a millionth of the currency). A movement takes from one book and gives to
 * another, so its two legs sum to zero; this table is the only place that says which books those are.
 */
export type Purse = 'payg' | 'subscription'
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
  purse: Purse
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

/** `12345678` → `12.345678`, for messages that people read. */
export const formatMicros = (micros: number): string =>
  (micros / 1_000_000).toFixed(6).replace(/(\.\d\d\d*?)0+$/, '$1')
