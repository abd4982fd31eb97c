/** Validates a usage query and runs it. */
import { ApiError } from '@kinora/contract/errors'
import type { UsageRow } from '@kinora/contract/operations/account'
import type { TotalUsageRow } from '@kinora/contract/operations/admin/requests'

import type { Call, Reply } from '../http/call.ts'
import type { Postgres } from '../platform/postgres.ts'
import { sumUsage, usageGroups, type UsageGroup } from './usage-store.ts'

const daySeconds = 86_400
const daysMax = 92
const daysDefault = 30
const rowsMax = 10_000

const invalid = (param: string, message: string) => new ApiError('invalid_parameter', { param, message })

/** A row whose members are the columns of a table in their order. */
const columnsOfUsage: TotalUsageRow = {
  ...{ period: null, model: null, key_id: null, key_name: null, account_id: null, account_name: null },
  ...{ provider: null, requests: 0, completed: 0, failed: 0, captured_micros: 0, refunded_micros: 0 },
  ...{ cost_micros: 0, margin_micros: 0, unknown_costs: 0, currency: '', seconds: '0' },
}

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

/** Who sees the rows. Customers see neither other accounts nor providers and their costs. */
interface UsageView<Row> {
  groups: readonly UsageGroup[]
  rowOf: (row: TotalUsageRow) => Row
}

export const customerView: UsageView<UsageRow> = {
  groups: ['hour', 'day', 'model', 'key'],
  rowOf: (row) => {
    const { period, model, key_id, key_name, account_id, requests, completed, failed } = row
    const { captured_micros, refunded_micros, currency, seconds } = row
    return {
      ...{ period, model, key_id, key_name, account_id, requests, completed, failed },
      ...{ captured_micros, refunded_micros, currency, seconds },
    }
  },
}
export const operatorView: UsageView<TotalUsageRow> = { groups: usageGroups, rowOf: (row) => row }

/** Quotes names, which may contain anything. A spreadsheet would run a text that begins like a formula. */
const csvValue = (value: string | number | null): string => {
  if (typeof value !== 'string') return String(value ?? '')
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

const csvOf = (names: string[], rows: object[]): string =>
  [
    names,
    ...rows.map((row) => names.map((name) => csvValue(Reflect.get(row, name) as string | number | null))),
  ]
    .map((values) => `${values.join(',')}\r\n`)
    .join('')

export const readUsage = async <Row extends object>(
  postgres: Postgres,
  query: Call['query'],
  { currency, ...scope }: UsageScope,
  { groups: allowed, rowOf }: UsageView<Row>,
): Promise<Reply<{ object: 'list'; data: Row[]; next: null } | string>> => {
  const groups = groupsOf(query['group_by'] ?? 'day', allowed)
  // Reads one row more than the limit, to detect that there are more.
  const rows = await sumUsage(postgres, { ...spanOf(query), ...scope, groups, rowsMax: rowsMax + 1 })
  if (rows.length > rowsMax) {
    throw invalid('group_by', `The result has more than ${rowsMax} rows. Use a shorter span or fewer groups.`)
  }
  const data = rows.map((row) => rowOf({ ...row, currency }))
  if (query['format'] !== 'csv') return { body: { object: 'list', data, next: null } }
  return {
    headers: {
      'content-type': 'text/csv; charset=utf-8; header=present',
      'content-disposition': 'attachment; filename="usage.csv"',
    },
    body: csvOf(Object.keys(rowOf(columnsOfUsage)), data),
  }
}
