import type { UsageRow } from '@kinora/contract/operations/account'

import type { Postgres } from '../platform/postgres.ts'

export const usageGroups = ['hour', 'day', 'model', 'key', 'account'] as const
export type UsageGroup = (typeof usageGroups)[number]

interface UsageQuestion {
  from: Date
  to: Date
  groups: Set<UsageGroup>
  accountId?: string | undefined
  keyId?: string | undefined
  model?: string | undefined
  rowsMax: number
}

// Summing up a busy quarter takes a while; more than this is not worth anybody's connection.
const statementTimeoutMs = 15_000

/** Sums up what ended in a span of time. */
export const sumUsage = async (
  postgres: Postgres,
  { from, to, groups, accountId, keyId, model, rowsMax }: UsageQuestion,
): Promise<Omit<UsageRow, 'currency'>[]> => {
  const values: unknown[] = [from, to, rowsMax]
  const conditions = [
    // The day leads to the months that can have them.
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
  const step = groups.has('hour') ? 'hour' : 'day'
  const columns = {
    period:
      groups.has('hour') || groups.has('day')
        ? `extract(epoch from date_trunc('${step}', ended_at, 'utc'))::bigint`
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
