/** Validates a usage query and runs it. */
import { ApiError } from '@kinora/contract/errors'
import type { UsageRow } from '@kinora/contract/operations/account'

import type { Call } from '../http/call.ts'
import type { Postgres } from '../platform/postgres.ts'
import { sumUsage, usageGroups, type UsageGroup } from './usage-store.ts'

const daySeconds = 86_400
const daysMax = 92
const daysDefault = 30
const rowsMax = 10_000

const invalid = (param: string, message: string) => new ApiError('invalid_parameter', { param, message })

const spanOf = ({ from: fromText, to: toText }: Call['query']): { from: Date; to: Date } => {
  // Includes the current second.
  const to = toText === undefined ? Math.floor(Date.now() / 1000) + 1 : Number(toText)
  const from = fromText === undefined ? to - daysDefault * daySeconds : Number(fromText)
  if (from >= to) throw invalid('to', "'to' must be later than 'from'.")
  if (to - from > daysMax * daySeconds) throw invalid('from', `The span must be at most ${daysMax} days.`)
  return { from: new Date(Math.max(0, from) * 1000), to: new Date(to * 1000) }
}

const groupsOf = (text: string, allowed: readonly UsageGroup[]): Set<UsageGroup> => {
  const isAllowed = (name: string): name is UsageGroup => allowed.some((each) => each === name)
  return new Set(
    text
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '')
      .map((name) => {
        if (isAllowed(name)) return name
        throw invalid(
          'group_by',
          `'group_by' must be a comma-separated list of ${allowed.join(', ')} (got '${name.slice(0, 60)}').`,
        )
      }),
  )
}

interface UsageScope {
  accountId?: string | undefined
  keyId?: string | undefined
  model?: string | undefined
  currency: string
}

/** Groups for the usage of one account. */
export const accountGroups: readonly UsageGroup[] = usageGroups.filter((group) => group !== 'account')
/** Groups for the usage of all accounts. */
export const instanceGroups: readonly UsageGroup[] = usageGroups

export const readUsage = async (
  postgres: Postgres,
  query: Call['query'],
  { currency, ...scope }: UsageScope,
  allowed: readonly UsageGroup[],
): Promise<{ object: 'list'; data: UsageRow[]; next: null }> => {
  const groups = groupsOf(query['group_by'] ?? 'day', allowed)
  // Reads one row more than the limit, to detect that there are more.
  const rows = await sumUsage(postgres, { ...spanOf(query), ...scope, groups, rowsMax: rowsMax + 1 })
  if (rows.length > rowsMax) {
    throw invalid('group_by', `The result has more than ${rowsMax} rows. Use a shorter span or fewer groups.`)
  }
  return { object: 'list', data: rows.map((row) => ({ ...row, currency })), next: null }
}
