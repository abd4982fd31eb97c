import { UsageError } from '../frame/usage-error.ts'
/** Amounts and limits as a person writes them on the command line. */
import { microsPerUnit } from '../terminal/format.ts'

const decimalsMax = 6

/** An amount such as `12.50` in micro-units. Commas are refused: some write thousands with them, others decimals. */
export const readAmount = (label: string, text: string): number => {
  const [, whole, decimals = ''] = /^(\d+)(?:\.(\d+))?$/.exec(text.trim()) ?? []
  if (whole === undefined) {
    throw new UsageError(`${label} must be an amount such as 12.50, without a currency, got "${text}".`)
  }
  if (decimals.length > decimalsMax) {
    throw new UsageError(`${label} has more than ${decimalsMax} decimals: "${text}".`)
  }
  const micros = Number(whole) * microsPerUnit + Number(decimals.padEnd(decimalsMax, '0'))
  if (!Number.isSafeInteger(micros)) throw new UsageError(`${label} is too large: "${text}".`)
  return micros
}

/** The value of an option that `none` sets to null; undefined if it is not given. */
export const readNullable = <Value>(
  text: string | undefined,
  read: (text: string) => Value,
): Value | null | undefined => {
  if (text === undefined) return undefined
  return text === 'none' ? null : read(text)
}

export const readCount = (label: string, text: string): number => {
  const count = Number(text)
  if (/^\d+$/.test(text) && count >= 1 && Number.isSafeInteger(count)) return count
  throw new UsageError(`${label} must be a whole number from 1, or none, got "${text}".`)
}

const budgetPeriods = ['hour', 'day', 'week', 'month'] as const

/** A budget such as `day=5.00`. */
export const readBudget = (text: string) => {
  const [name = '', amount] = text.split('=')
  const period = budgetPeriods.find((each) => each === name)
  if (period === undefined || amount === undefined) {
    throw new UsageError(
      `--budget must be a period and an amount, such as day=5.00, got "${text}". The periods are ${budgetPeriods.join(', ')}.`,
    )
  }
  return { period, limit_micros: readAmount('--budget', amount) }
}

/** Texts that are separated by commas. */
export const splitList = (text: string | undefined): string[] | undefined =>
  text
    ?.split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '')

/** The object without the fields that are not given. */
export const omitAbsent = <Fields extends object>(
  fields: Fields,
): { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never
