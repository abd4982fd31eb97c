/**
 * Where a page of a list goes on. Lists are ordered by creation time, as exact as the database has it, and by id within
 * the same microsecond.
 */
export interface ListPosition {
  /** Text of a time as the database wrote it: a Date would cut it to milliseconds. */
  at: string
  id: string
}

/**
 * The position of an id of which only its second is known. Everything of that second comes after it, in either order:
 * some of it may be listed again, and nothing is left out.
 */
export const positionOfSecond = (date: Date, order: 'asc' | 'desc'): ListPosition => {
  const startMs = Math.floor(date.getTime() / 1000) * 1000
  return { at: new Date(order === 'asc' ? startMs : startMs + 1000).toISOString(), id: '' }
}
