import type { TotalUsageRow } from '@kinora/contract/operations/admin/requests'

import type { Postgres } from '../platform/postgres.ts'

export const usageGroups = ['hour', 'day', 'model', 'key', 'account', 'provider'] as const
export type UsageGroup = (typeof usageGroups)[number]

interface UsageQuery {
  from: Date
  to: Date
  groups: Set<UsageGroup>
  accountId?: string | undefined
  keyId?: string | undefined
  model?: string | undefined
  rowsMax: number
}

type Row = Omit<TotalUsageRow, 'currency'>

// Summing up a busy quarter takes a while; a longer query would only block a connection.
const statementTimeoutMs = 15_000

/** Sums up the usage that ended in a time span. */
export const sumUsage = async (
  postgres: Postgres,
  { from, to, groups, accountId, keyId, model, rowsMax }: UsageQuery,
): Promise<Row[]> => {
  const values: unknown[] = [from, to, rowsMax]
  const conditions = [
    // The day limits the scan to the matching partitions.
    `day between ($1::timestamptz at time zone 'utc')::date and ($2::timestamptz at time zone 'utc')::date`,
    'ended_at >= $1 and ended_at < $2',
  ]
  const given = (value: string | undefined, column: string) => {
    if (value === undefined) return
    values.push(value)
    conditions.push(`${column} = $${values.length}`)
  }
  given(accountId, 'account_id')
  given(keyId, 'key_id')
  given(model, 'model')
  const unit = groups.has('hour') ? 'hour' : 'day'
  const columns = {
    period:
      groups.has('hour') || groups.has('day')
        ? `extract(epoch from date_trunc('${unit}', ended_at, 'utc'))::bigint`
        : 'null::bigint',
    model: groups.has('model') ? 'model' : 'null::text',
    key_id: groups.has('key') ? 'key_id' : 'null::uuid',
    account_id: groups.has('account') ? 'account_id' : 'null::uuid',
    provider: groups.has('provider') ? 'provider' : 'null::text',
  }
  const named = Object.entries(columns).map(([name, value]) => `${value} as ${name}`)
  const order = named.map((_, index) => index + 1).join(', ')
  return postgres.transaction(
    async (database) => {
      const { rows } = await database.query<Row & Record<string, unknown>>(
        `select ${named.join(', ')}, count(*) as requests,
                count(*) filter (where outcome = 'completed') as completed,
                count(*) filter (where outcome = 'failed') as failed,
                coalesce(sum(captured_micros), 0) as captured_micros, coalesce(sum(seconds), 0) as seconds,
                coalesce(sum(cost_micros), 0) as cost_micros,
                coalesce(sum(captured_micros - cost_micros), 0) as margin_micros,
                count(*) filter (where cost_micros is null and captured_micros > 0) as unknown_costs
           from usage_entries where ${conditions.join(' and ')}
          group by ${order} having count(*) > 0 order by ${order} limit $3`,
        values,
      )
      return rows
    },
    { statementTimeoutMs },
  )
}
