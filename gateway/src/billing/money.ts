/**
 * Money is whole micro-units (a millionth of the currency). A movement takes from one book and gives to
 * another, so its two legs sum to zero; this table is the only place that says which books those are.
 */
export type Purse = 'payg' | 'subscription'
export type Book = 'funding' | 'available' | 'held' | 'revenue'
export type MovementKind = 'top_up' | 'grant' | 'hold' | 'capture' | 'release'

export const movementBooks: Record<MovementKind, { from: Book; to: Book }> = {
  top_up: { from: 'funding', to: 'available' },
  grant: { from: 'funding', to: 'available' },
  hold: { from: 'available', to: 'held' },
  capture: { from: 'held', to: 'revenue' },
  release: { from: 'held', to: 'available' },
}

export interface Movement {
  kind: MovementKind
  accountId: string
  purse: Purse
  /** The task it is about and its creation day, or null and the day of the movement. */
  taskId: string | null
  day: string
  amountMicros: number
}

export interface Leg extends Omit<Movement, 'kind'> {
  movement: MovementKind
  book: Book
}

export const legsOf = (movement: Movement): [Leg, Leg] => {
  const { kind, amountMicros, ...rest } = movement
  if (!Number.isSafeInteger(amountMicros) || amountMicros < 0) {
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
