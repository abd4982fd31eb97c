import { ApiError } from '@kinora/contract/errors'
/** Reads what a question about usage says, and answers it. */
import type { UsageRow } from '@kinora/contract/operations/account'

import type { Call } from '../http/call.ts'
import type { Postgres } from '../platform/postgres.ts'
import { sumUsage, usageGroups, type UsageGroup } from './usage-store.ts'

const daySeconds = 86_400
const daysMost = 92
const daysUsual = 30
const rowsMax = 10_000

const invalid = (param: string, message: string) => new ApiError('invalid_parameter', { param, message })

const spanOf = ({ from: fromText, to: toText }: Call['query']): { from: Date; to: Date } => {
  // What ends in this very second is in it.
  const to = toText === undefined ? Math.floor(Date.now() / 1000) + 1 : Number(toText)
  const from = fromText === undefined ? to - daysUsual * daySeconds : Number(fromText)
  if (from >= to) throw invalid('to', "'to' must be later than 'from'.")
  if (to - from > daysMost * daySeconds) throw invalid('from', `At most ${daysMost} days can be asked for.`)
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
        throw invalid('group_by', `'group_by' may name ${allowed.join(', ')} (got '${name.slice(0, 60)}').`)
      }),
  )
}

interface UsageScope {
  accountId?: string | undefined
  keyId?: string | undefined
  model?: string | undefined
  currency: string
}

/** A caller's own usage has no accounts to tell apart. */
export const groupsOfOne: readonly UsageGroup[] = usageGroups.filter((group) => group !== 'account')
export const groupsOfAll: readonly UsageGroup[] = usageGroups

export const readUsage = async (
  postgres: Postgres,
  query: Call['query'],
  { currency, ...scope }: UsageScope,
  allowed: readonly UsageGroup[],
): Promise<{ object: 'list'; data: UsageRow[]; next: null }> => {
  const groups = groupsOf(query['group_by'] ?? 'day', allowed)
  // One more than is answered tells whether there are more.
  const rows = await sumUsage(postgres, { ...spanOf(query), ...scope, groups, rowsMax: rowsMax + 1 })
  if (rows.length > rowsMax) {
    throw invalid('group_by', `That makes more than ${rowsMax} rows; ask for a shorter span or fewer groups.`)
  }
  return { object: 'list', data: rows.map((row) => ({ ...row, currency })), next: null }
}
