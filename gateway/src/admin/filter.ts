/** An SQL condition with a `?` for each value. It applies if its first value is defined. */
export type Condition = [text: string, ...values: unknown[]]

/** Builds the where clause from the conditions that apply. Others are left out, so that the planner finds the best index. */
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

/** A timestamp as an integer of microseconds, the precision of PostgreSQL. */
export const microsecondsOf = (column: string): string => `(extract(epoch from ${column}) * 1000000)::bigint`

/** The timestamp of a number of microseconds. */
export const timeOf = (value: string): string =>
  `timestamptz 'epoch' + ${value}::bigint * interval '1 microsecond'`
