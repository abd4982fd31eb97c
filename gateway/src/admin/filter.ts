/** A condition of a list: its text with a `?` for each value. It counts where its first value is given. */
export type Condition = [text: string, ...values: unknown[]]

/**
 * The conditions that count, with numbered values. What is not asked for is not in the text at all, so that the
 * planner sees a list for what it is and walks the index that fits.
 */
export const filter = (conditions: Condition[]): { where: string; values: unknown[] } => {
  const values: unknown[] = []
  const texts = conditions.flatMap(([text, ...given]) => {
    if (given[0] === undefined) return []
    let used = 0
    return text.replaceAll('?', () => {
      values.push(given[used])
      used += 1
      return `$${values.length}`
    })
  })
  return { where: texts.length === 0 ? '' : `where ${texts.join(' and ')}`, values }
}

/** A time as a whole number of microseconds, which is all that the database knows of it. */
export const microsecondsOf = (column: string): string => `(extract(epoch from ${column}) * 1000000)::bigint`

/** The time of such a number. */
export const timeOf = (value: string): string =>
  `timestamptz 'epoch' + ${value}::bigint * interval '1 microsecond'`
