import type { TotalUsageRow } from '@kinora/contract/operations/admin/requests'

import { matchMetadata } from '../metadata/match-metadata.ts'
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
  /** Only the usage with these values in its metadata. */
  metadata: readonly (readonly [key: string, value: string])[]
  /** The metadata keys to group by. */
  metadataKeys: readonly string[]
  rowsMax: number
}

/** A sum. Only customers see the metadata. */
export type SummedUsage = Omit<TotalUsageRow, 'currency'> & { metadata: Record<string, string | null> | null }

// Summing up a busy quarter takes a while; a longer query would only block a connection.
const statementTimeoutMs = 15_000

const inPeriod = (day: string) =>
  `${day} between ($1::timestamptz at time zone 'utc')::date and ($2::timestamptz at time zone 'utc')::date`

/** The columns with metadata, and the tables that they are from. The day is repeated, because it chooses the partitions. */
const withMetadata = {
  column: ', n.metadata',
  ofEntries: `left join usage_metadata n on n.day = u.day and n.id = u.id and n.account_id = u.account_id and ${inPeriod('n.day')}`,
  ofRefunds: `left join usage_metadata n on n.day = u.day and n.id = u.id`,
}
const withoutMetadata = { column: '', ofEntries: '', ofRefunds: '' }

/** Refunds count when they were made, so that the usage of past periods does not change. */
const entriesWhere = (conditions: string[], { column, ofEntries, ofRefunds }: typeof withMetadata) =>
  `select u.ended_at as at, u.model, u.key_id, u.account_id, u.provider, u.outcome, u.captured_micros, 0::bigint as refunded_micros,
          u.seconds, u.cost_micros, u.cost_micros is not null as has_cost,
          u.cost_micros is null and u.captured_micros > 0 as has_unknown_cost${column}
     from usage_entries u ${ofEntries}
    where ${inPeriod('u.day')}
      and u.ended_at >= $1 and u.ended_at < $2 ${conditions.map((each) => `and ${each}`).join(' ')}
    union all
   select m.created_at, u.model, u.key_id, u.account_id, u.provider, null, 0, m.amount_micros,
          0, null, u.cost_micros is not null, u.cost_micros is null${column}
     from refunds r
     join account_movements m on m.id = r.id and m.created_at >= $1 and m.created_at < $2
     join usage_entries u on u.day = r.usage_day and u.id = r.task_id ${ofRefunds}
     ${conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`}`

/** Sums up the usage that ended in a time span, and the refunds that were made in it. */
export const sumUsage = async (
  postgres: Postgres,
  { from, to, groups, accountId, keyId, model, metadata, metadataKeys, rowsMax }: UsageQuery,
): Promise<SummedUsage[]> => {
  const values: unknown[] = [from, to, rowsMax]
  const conditions: string[] = []
  const given = (value: string | undefined, column: string) => {
    if (value === undefined) return
    values.push(value)
    conditions.push(`u.${column} = $${values.length}`)
  }
  given(accountId, 'account_id')
  given(keyId, 'key_id')
  given(model, 'model')
  conditions.push(...matchMetadata('n.metadata', metadata, values))
  const usesMetadata = metadata.length + metadataKeys.length > 0
  if (metadataKeys.length > 0) values.push(metadataKeys)
  const members = `(select jsonb_object_agg(key, metadata ->> key) from unnest($${values.length}::text[]) as wanted (key))`
  const unit = groups.has('hour') ? 'hour' : 'day'
  const columns = {
    period:
      groups.has('hour') || groups.has('day')
        ? `extract(epoch from date_trunc('${unit}', at, 'utc'))::bigint`
        : 'null::bigint',
    model: groups.has('model') ? 'model' : 'null::text',
    key_id: groups.has('key') ? 'key_id' : 'null::uuid',
    account_id: groups.has('account') ? 'account_id' : 'null::uuid',
    provider: groups.has('provider') ? 'provider' : 'null::text',
    metadata: metadataKeys.length === 0 ? 'null::jsonb' : members,
  }
  const named = Object.entries(columns).map(([name, value]) => `${value} as ${name}`)
  const order = named.map((_, index) => index + 1).join(', ')
  // A cost that is unknown for everything in a row is null and not 0.
  const ifKnown = (sum: string) =>
    `case when bool_or(has_unknown_cost) and not bool_or(has_cost) then null else coalesce(${sum}, 0) end`
  return postgres.transaction(
    async (database) => {
      const { rows } = await database.query<SummedUsage & Record<string, unknown>>(
        `select sums.*, (select name from keys where id = sums.key_id) as key_name,
                (select name from accounts where id = sums.account_id) as account_name
           from (select ${named.join(', ')}, count(outcome) as requests,
                        count(*) filter (where outcome = 'completed') as completed,
                        count(*) filter (where outcome = 'failed') as failed,
                        coalesce(sum(captured_micros), 0) as captured_micros,
                        coalesce(sum(refunded_micros), 0) as refunded_micros,
                        trim_scale(coalesce(sum(seconds), 0))::text as seconds, ${ifKnown('sum(cost_micros)')} as cost_micros,
                        ${ifKnown(
                          'sum(captured_micros - refunded_micros - coalesce(cost_micros, 0)) filter (where has_cost)',
                        )} as margin_micros,
                        count(outcome) filter (where has_unknown_cost) as unknown_costs
                   from (${entriesWhere(conditions, usesMetadata ? withMetadata : withoutMetadata)}) entries
                  group by ${order} having count(*) > 0 order by ${order} limit $3) sums
          order by ${order}`,
        values,
      )
      return rows
    },
    { statementTimeoutMs },
  )
}
