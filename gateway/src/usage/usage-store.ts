import type { UsageRow } from '@kinora/contract/operations/account'

import type { Postgres } from '../platform/postgres.ts'

export const usageGroups = ['hour', 'day', 'model', 'key', 'account'] as const
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

// Summing up a busy quarter takes a while; a longer query would only block a connection.
const statementTimeoutMs = 15_000

/** Sums up the usage that ended in a time span. */
export const sumUsage = async (
  postgres: Postgres,
  { from, to, groups, accountId, keyId, model, rowsMax }: UsageQuery,
): Promise<Omit<UsageRow, 'currency'>[]> => {
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
  }
  const named = Object.entries(columns).map(([name, value]) => `${value} as ${name}`)
  return postgres.transaction(
    async (database) => {
      const { rows } = await database.query<Omit<UsageRow, 'currency'> & Record<string, unknown>>(
        `select ${named.join(', ')}, count(*) as requests,
                count(*) filter (where outcome = 'completed') as completed,
                count(*) filter (where outcome = 'failed') as failed,
                coalesce(sum(captured_micros), 0) as captured_micros, coalesce(sum(seconds), 0) as seconds
           from usage_entries where ${conditions.join(' and ')}
          group by 1, 2, 3, 4 having count(*) > 0 order by 1, 2, 3, 4 limit $3`,
        values,
      )
      return rows
    },
    { statementTimeoutMs },
  )
}
