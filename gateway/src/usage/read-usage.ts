/** Validates a usage query and runs it. */
import { ApiError } from '@kinora/contract/errors'
import type { UsageRow } from '@kinora/contract/operations/account'
import type { TotalUsageRow } from '@kinora/contract/operations/admin/requests'

import type { Call, Reply } from '../http/call.ts'
import { isMetadataKey, readMetadataFilter } from '../metadata/read-metadata.ts'
import type { Postgres } from '../platform/postgres.ts'
import { csvHeaders, formatCsv } from '../platform/text/csv.ts'
import { sumUsage, usageGroups, type SummedUsage, type UsageGroup } from './usage-store.ts'

const daySeconds = 86_400
const daysMax = 92
const daysDefault = 30
const rowsMax = 10_000

const invalid = (param: string, message: string) => new ApiError('invalid_parameter', { param, message })

type UsageSum = SummedUsage & { currency: string }

/** A row whose members are the columns of a table in their order. */
const columnsOfUsage: UsageSum = {
  ...{ period: null, model: null, key_id: null, key_name: null, account_id: null, account_name: null },
  ...{ provider: null, requests: 0, completed: 0, failed: 0, captured_micros: 0, refunded_micros: 0 },
  ...{ cost_micros: 0, margin_micros: 0, unknown_costs: 0, currency: '', seconds: '0' },
  metadata: null,
}

const spanOf = ({ from: fromText, to: toText }: Call['query']): { from: Date; to: Date } => {
  // Includes the current second.
  const to = toText === undefined ? Math.floor(Date.now() / 1000) + 1 : Number(toText)
  const from = fromText === undefined ? to - daysDefault * daySeconds : Number(fromText)
  if (from >= to) throw invalid('to', "'to' must be later than 'from'.")
  if (to - from > daysMax * daySeconds) throw invalid('from', `The span must be at most ${daysMax} days.`)
  return { from: new Date(Math.max(0, from) * 1000), to: new Date(to * 1000) }
}

const metadataPrefix = 'metadata.'
const metadataKeysMax = 5

/** The groups of a query, and the metadata keys among them. */
const groupsOf = (
  text: string,
  { groups: allowed, hasMetadata }: Pick<UsageView<unknown>, 'groups' | 'hasMetadata'>,
) => {
  const groups = new Set<UsageGroup>()
  const metadataKeys = new Set<string>()
  for (const name of text.split(',').map((each) => each.trim())) {
    if (name === '') continue
    const group = allowed.find((each) => each === name)
    const key = name.slice(metadataPrefix.length)
    if (group !== undefined) groups.add(group)
    else if (hasMetadata && name.startsWith(metadataPrefix) && isMetadataKey(key)) metadataKeys.add(key)
    else {
      const names = [...allowed, ...(hasMetadata ? ['metadata.<key>'] : [])]
      throw invalid(
        'group_by',
        `'group_by' must be a comma-separated list of ${names.join(', ')} (got '${name.slice(0, 60)}').`,
      )
    }
  }
  if (metadataKeys.size > metadataKeysMax) {
    throw invalid(
      'group_by',
      `'group_by' may have at most ${metadataKeysMax} metadata keys (got ${metadataKeys.size}).`,
    )
  }
  return { groups, metadataKeys: [...metadataKeys] }
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
  /** Whether rows can be grouped and filtered by metadata. */
  hasMetadata: boolean
  rowOf: (row: UsageSum) => Row
}

export const customerView: UsageView<UsageRow> = {
  groups: ['hour', 'day', 'model', 'key'],
  hasMetadata: true,
  rowOf: (row) => {
    const { period, model, key_id, key_name, account_id, requests, completed, failed } = row
    const { captured_micros, refunded_micros, currency, seconds, metadata } = row
    return {
      ...{ period, model, key_id, key_name, account_id, requests, completed, failed },
      ...{ captured_micros, refunded_micros, currency, seconds, metadata },
    }
  },
}
export const operatorView: UsageView<TotalUsageRow> = {
  groups: usageGroups,
  hasMetadata: false,
  rowOf: (row) => {
    const { metadata: _, ...others } = row
    return others
  },
}

/** A row of the table, in which each metadata key has a column. */
const flattened = (row: object, metadataKeys: string[]): object => {
  const { metadata, ...others } = row as { metadata?: Record<string, string | null> | null }
  const columns = metadataKeys.map((key) => [`${metadataPrefix}${key}`, metadata?.[key] ?? null])
  return { ...others, ...Object.fromEntries(columns) }
}

export const readUsage = async <Row extends object>(
  postgres: Postgres,
  query: Call['query'],
  { currency, ...scope }: UsageScope,
  view: UsageView<Row>,
): Promise<Reply<{ object: 'list'; data: Row[]; next: null } | string>> => {
  const { rowOf } = view
  const grouping = groupsOf(query['group_by'] ?? 'day', view)
  const metadata = view.hasMetadata ? readMetadataFilter(query['metadata']) : []
  // Reads one row more than the limit, to detect that there are more.
  const rows = await sumUsage(postgres, {
    ...spanOf(query),
    ...scope,
    ...grouping,
    metadata,
    rowsMax: rowsMax + 1,
  })
  if (rows.length > rowsMax) {
    throw invalid('group_by', `The result has more than ${rowsMax} rows. Use a shorter span or fewer groups.`)
  }
  const data = rows.map((row) => rowOf({ ...row, currency }))
  if (query['format'] !== 'csv') return { body: { object: 'list', data, next: null } }
  return {
    headers: csvHeaders('usage.csv'),
    body: formatCsv(
      Object.keys(flattened(rowOf(columnsOfUsage), grouping.metadataKeys)),
      data.map((row) => flattened(row, grouping.metadataKeys)),
    ),
  }
}
