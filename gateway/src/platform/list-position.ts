/**
 * The cursor of a list. Lists are ordered by creation time in microseconds, and by id within the same microsecond.
 */
export interface ListPosition {
  /** The time as the database formats it, because a Date only has milliseconds. */
  at: string
  id: string
}

/**
 * The cursor for an id of which only the second is known. It is placed before everything of that second, in either
 * order: some items may be listed again, but none is left out.
 */
export const positionOfSecond = (date: Date, order: 'asc' | 'desc'): ListPosition => {
  const startMs = Math.floor(date.getTime() / 1000) * 1000
  return { at: new Date(order === 'asc' ? startMs : startMs + 1000).toISOString(), id: '' }
}
