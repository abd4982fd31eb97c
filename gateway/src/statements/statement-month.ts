import type { StatementMonth } from '@kinora/contract/operations/statements'

/** A calendar month in UTC. */
export interface Month {
  /** Such as `2026-10`. */
  name: string
  start: Date
  end: Date
}

/** Undefined if the text is not a month. */
export const parseMonth = (text: string): Month | undefined => {
  const [, year, month] = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(text) ?? []
  if (year === undefined || month === undefined) return undefined
  const end = new Date(0)
  end.setUTCFullYear(Number(year), Number(month), 1)
  return { name: text, start: new Date(`${text}-01T00:00:00Z`), end }
}

/** The month that begins on a day. */
export const monthOfDay = (day: string): Month => {
  const month = parseMonth(day.slice(0, 7))
  if (month === undefined) throw new RangeError(`${day} is not in a month from the year 0 to 9999.`)
  return month
}

export const dayOf = (at: Date): string => at.toISOString().slice(0, 10)

const secondsOf = (at: Date) => Math.floor(at.getTime() / 1000)

/** A transaction that moved money before the end of the month may commit after it. None takes this long. */
const settlingMs = 3_600_000

/** The fields that a month has in the list of statements and in its statement. */
export const presentMonth = ({ name, start, end }: Month, now: Date): Omit<StatementMonth, 'object'> => ({
  month: name,
  state: now.getTime() < end.getTime() + settlingMs ? 'open' : 'closed',
  from: secondsOf(start),
  to: secondsOf(end),
})

export const asOf = ({ end }: Month, now: Date): number => secondsOf(now < end ? now : end)
